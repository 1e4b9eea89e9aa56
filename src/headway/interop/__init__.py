"""The model in other frameworks, and models of other frameworks as bundles.

`ctranslate2` and `keras` need the extra of their name; `marian` needs none.
"""
