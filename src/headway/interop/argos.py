"""A bundle as a package of Argos Translate, which LibreTranslate installs; needs `ctranslate2`.

    from headway.interop.argos import export
    export("runs/demo", "ko-en.argosmodel")

A package is a zip file of one folder, with a CTranslate2 model, the tokenizer of the source and the
codes of both languages. Argos Translate cuts text into sentences by a method of its own, and takes
a beam of 4 with a length penalty of its own. So its translations may differ from Headway's, where
both models compute the same.
"""

import dataclasses
import json
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from headway.bundle import Bundle, load_bundle
from headway.counted import listed
from headway.data.languages import is_language, language_code
from headway.data.tokenizer import BYTE, UNK_ID
from headway.errors import BundleError, ConfigError, require_path, shown
from headway.home import expanded
from headway.interop.ctranslate2 import Export, exporting
from headway.interop.ctranslate2.parity import examples
from headway.interop.ctranslate2.spec import check_expressible, token_list
from headway.runtime.atomic_files import check_file_place, partial_path, replace, writing

ENDING = ".argosmodel"
_VERSION = "1.0"
_MADE_FOR = "1.11"
"""The version of Argos Translate whose code reads the package in the tests."""
_CODES = {"pt-br": "pb", "zh-hant": "zt", "zh-tw": "zt"}
"""Codes of Argos Translate for languages in a region or script; elsewhere it has the plain code."""
_WHEN = (1980, 1, 1, 0, 0, 0)  # the first day of zip files; equal models give equal files
_MODEL_FILES = ("model.bin", "config.json", "*_vocabulary.json")

_NOTE = """\
# {source} to {target}, for Argos Translate

Exported by Headway. `argostranslate.package.install_from_path` installs it, for LibreTranslate too.
It differs from Headway in these points:

- Argos Translate takes a beam of 4 and a length penalty of 0.2, in a formula of its own.
- It copies the source of an unknown token, which Headway never puts out.
- It writes a space for each underscore.
- It finds the ends of sentences by a method of its own.
"""


def export(
    source: Bundle | str | Path,
    file: str | Path,
    quantization: str = "none",
    texts: Sequence[str] = (),
) -> Export:
    """Write a bundle, or the bundle in a folder, as a package; return the comparison.

    The model is compared as by `headway.interop.ctranslate2.export`. The tokenizer is compared in
    the way that Argos Translate uses it: it cuts the texts, and joins sentences of random tokens.

    file: a new file that ends in `.argosmodel`, or a folder for it. quantization and texts: as for
    `headway.interop.ctranslate2.export`. The field `folder` of the result is the file. Raises
    ConfigError for a model that Argos Translate cannot use, and BundleError if the file exists or
    the two diverge. After an error nothing is written.
    """
    bundle = source if isinstance(source, Bundle) else load_bundle(source)
    check_expressible(bundle)
    check_usable(bundle)
    path = _new_file(file, bundle)
    with tempfile.TemporaryDirectory(prefix="headway-argos-") as place:
        model = Path(place) / "model"
        result = exporting.export(bundle, model, quantization, texts)
        _compare_tokenizer(bundle, texts)
        _write(path, bundle, model)
    return dataclasses.replace(result, folder=path)


def check_usable(bundle: Bundle) -> None:
    """Refuse, with a ConfigError, a model that CTranslate2 can compute but Argos cannot use."""
    for side, language in _languages(bundle).items():
        if not is_language(language):
            raise ConfigError(
                f"The {side} language of the model is {shown(language)}, for which Argos Translate "
                "has no code.",
                f"Train it with the name of a language as data.{side}_language.",
            )
    if any(kind == BYTE for _, _, kind in bundle.target_tokenizer.table()):
        raise ConfigError(
            "The target vocabulary has tokens of single bytes, which Argos Translate may write as "
            "they are named, such as <0xEA>.",
            "Train the tokenizer with tokenizer.byte_fallback = false.",
        )
    if "" not in bundle.tags:
        raise ConfigError(
            f"Each sentence for the model begins with a tag ({listed(bundle.tags)}), and Argos "
            "Translate puts none there.",
            "Export it with --to ctranslate2, whose program takes tags.",
        )


def _languages(bundle: Bundle) -> dict[str, str]:
    return {"source": bundle.source_language, "target": bundle.target_language}


def _codes(bundle: Bundle) -> tuple[str, str]:
    """Return the codes of Argos Translate for both languages."""
    source, target = (language_code(name) for name in _languages(bundle).values())
    return (
        _CODES.get(source, source.partition("-")[0]),
        _CODES.get(target, target.partition("-")[0]),
    )


def _name(bundle: Bundle) -> str:
    """Return the name of the package, by the convention of Argos Translate."""
    return f"translate-{'_'.join(_codes(bundle))}-{_VERSION.replace('.', '_')}"


def _new_file(file: str | Path, bundle: Bundle) -> Path:
    """Return the path of the package; refuse an existing file and an impossible name."""
    require_path("The file of a package", file)
    path = expanded(file)
    if path.is_dir():
        path /= f"{_name(bundle)}{ENDING}"
    if path.suffix != ENDING:
        raise ConfigError(
            f"{file} does not end in {ENDING}, by which packages are recognized.",
            f"Write {path.name}{ENDING}, or name a folder.",
        )
    if path.exists():
        raise BundleError(f"{path} exists.", "Choose another file or remove it.")
    check_file_place(path, BundleError)
    return path.resolve()


def _compare_tokenizer(bundle: Bundle, texts: Sequence[str]) -> None:
    """Raise BundleError if Argos Translate cuts a text, or joins tokens, in another way."""
    processor = SentencePieceProcessor(model_proto=bundle.source_tokenizer.to_bytes())
    ids = {token: number for number, token in enumerate(token_list(bundle.source_tokenizer))}
    for text in texts:
        cut = [ids.get(token, UNK_ID) for token in processor.encode(text, out_type=str)]
        if cut != bundle.source_tokenizer.encode(text):
            raise _divergence(f"cuts {shown(text)} into other tokens")
    for example in examples(bundle):
        tokens = bundle.target_tokenizer.pieces(example.target)
        joined = processor.decode_pieces(tokens).replace("▁", " ").replace("_", " ")
        text = bundle.target_tokenizer.decode(example.target).replace("_", " ")
        if joined.removeprefix(" ") != text.removeprefix(" "):
            raise _divergence(f"writes {shown(joined)} where Headway writes {shown(text)}")


def _divergence(words: str) -> BundleError:
    return BundleError(
        f"Argos Translate {words}.",
        "Nothing was written. Please report it with `headway info` of this bundle.",
    )


def _write(path: Path, bundle: Bundle, model: Path) -> None:
    """Write the zip file; it appears whole or not at all."""
    partial = partial_path(path)
    try:
        with writing(path, BundleError, "Free some space or choose another file."):
            with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as package:
                for name, content in _content(bundle, model):
                    entry = zipfile.ZipInfo(f"{_name(bundle)}/{name}", _WHEN)
                    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                    package.writestr(entry, content)
            replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _content(bundle: Bundle, model: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the package, by their names within its folder."""
    from_code, to_code = _codes(bundle)
    metadata = {
        "package_version": _VERSION,
        "argos_version": _MADE_FOR,
        "from_code": from_code,
        "from_name": bundle.source_language,
        "to_code": to_code,
        "to_name": bundle.target_language,
    }
    note = _NOTE.format(source=bundle.source_language, target=bundle.target_language)
    yield "metadata.json", json.dumps(metadata, indent=2).encode()
    yield "README.md", "\n".join(filter(None, [note, bundle.card])).encode()
    yield "sentencepiece.model", bundle.source_tokenizer.to_bytes()
    for pattern in _MODEL_FILES:
        for path in sorted(model.glob(pattern)):
            yield f"model/{path.name}", path.read_bytes()
