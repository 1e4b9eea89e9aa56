"""A bundle in the form of CTranslate2, an inference engine; needs the extra `ctranslate2`.

    from headway.interop.ctranslate2 import export
    export("runs/demo", "demo-ct2")

`export` compares the result with the bundle and refuses a difference; `write` only writes.
"""

from headway.interop.ctranslate2.exporting import Export, export, write

__all__ = ["Export", "export", "write"]
