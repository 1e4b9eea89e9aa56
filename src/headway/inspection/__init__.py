"""Look inside: the named intermediates of a pass, and figures of them."""
