"""Decoding (section 6.1): text in, text out; searches over engines, and the Translator."""
