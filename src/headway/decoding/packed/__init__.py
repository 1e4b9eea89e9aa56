"""The packed engine: weights prepared once, caches written in place, hypotheses told by index."""
