"""The same model in other frameworks' words; each sub-package needs the extra of its name."""
