"""The model in other frameworks, and models of other frameworks as bundles.

`ctranslate2`, `hub` and `keras` need the extra of their name, `argos` that of `ctranslate2`;
`marian` needs none.
"""
