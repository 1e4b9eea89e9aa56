"""The same model in other frameworks; each sub-package needs the extra of its name."""
