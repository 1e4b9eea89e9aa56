"""Bundles for the hub of Hugging Face; needs the extra `hub`.

    from headway.interop.hub import pull, push
    push("runs/demo", "kim/ko-en", licence="mit")
    pull("kim/ko-en", "ko-en")

`headway.load("hf://kim/ko-en")` loads one without a folder of its own.
"""

from headway.interop.hub.sharing import Pulled, Pushed, pull, push

__all__ = ["Pulled", "Pushed", "pull", "push"]
