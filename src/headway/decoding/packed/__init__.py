"""The packed engine: prepared weights, caches written in place, hypotheses as indices."""
