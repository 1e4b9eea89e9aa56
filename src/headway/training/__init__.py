"""Training (section 5): from pairs of sentences to a bundle."""
