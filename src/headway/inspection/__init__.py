"""Look inside: traces with named axes, what each name means, edits of one run, and figures."""
