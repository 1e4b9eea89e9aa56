"""Import CTranslate2, or say in one sentence what is missing."""

from headway.errors import MissingExtraError

try:
    import ctranslate2
    from ctranslate2.specs import common_spec, transformer_spec
except ImportError as error:
    if isinstance(error, ModuleNotFoundError) and error.name == "ctranslate2":
        raise MissingExtraError.of("ctranslate2", "CTranslate2 is not installed.") from error
    raise MissingExtraError(
        f"CTranslate2 is installed, but cannot be imported: {error}.",
        "Install it again with: pip install --force-reinstall 'headway[ctranslate2]'.",
    ) from error

__all__ = ["common_spec", "ctranslate2", "transformer_spec"]
