"""Look inside a model: traces with named axes, a catalog of names, edits of a run, and figures."""
