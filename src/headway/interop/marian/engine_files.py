"""The two small files that programs read beside a student: how to run it, and its name.

`config.intgemm8bitalpha.yml` has settings of marian-decoder, by the names of its options. Marian
itself, translateLocally and bergamot-translator read it. translateLocally finds a model by its
`model_info.json`. Firefox and fxtranslate read neither.
"""

import json
from collections.abc import Sequence

from headway.bundle import Bundle
from headway.data.languages import ENGLISH_NAMES, language_code

CONFIG, INFO = "config.intgemm8bitalpha.yml", "model_info.json"
# What each entry of `shortlist` is: the file, and whether Marian checks that it fits.
_CHECKED = "false"


def engine_files(
    bundle: Bundle, weights: str, vocabularies: Sequence[str], shortlist: str | None
) -> dict[str, bytes]:
    """Return both files by name; they name the other files of the student.

    vocabularies: of the source and the target.
    """
    files = {CONFIG: marian_settings(bundle, weights, vocabularies, shortlist).encode()}
    return files | {INFO: f"{json.dumps(_info(bundle), indent=2, ensure_ascii=False)}\n".encode()}


def marian_settings(
    bundle: Bundle, weights: str, vocabularies: Sequence[str], shortlist: str | None
) -> str:
    """Return the settings as YAML: those of Mozilla's students, with the search of the bundle.

    Marian divides by `length ** normalize`, Headway by `((5 + length) / 6) ** alpha`; normalize is
    alpha. Greedy search does not depend on it.
    """
    decoding = bundle.decoding
    lines = ["relative-paths: true", "models:", f"  - {weights}", "vocabs:"]
    lines += [f"  - {name}" for name in vocabularies]
    if shortlist:
        lines += ["shortlist:", f"  - {shortlist}", f"  - {_CHECKED}"]
    return "\n".join(
        [
            *lines,
            f"beam-size: {decoding.beam_size}",
            f"normalize: {decoding.length_penalty}",
            "word-penalty: 0",
            "mini-batch: 64",
            "maxi-batch: 1000",
            "maxi-batch-sort: src",
            "workspace: 2000",
            "max-length-factor: 2.5",
            # Greedy search needs no normalized probabilities.
            *(["skip-cost: true"] if decoding.beam_size == 1 else []),
            "gemm-precision: int8shiftAlphaAll\n",
        ]
    )


def _info(bundle: Bundle) -> dict[str, str | int]:
    codes = [language_code(name) for name in (bundle.source_language, bundle.target_language)]
    source, target = (ENGLISH_NAMES.get(code, code) for code in codes)
    return {
        "modelName": f"{source}-{target} student",
        "shortName": f"{codes[0]}-{codes[1]}-student",
        "type": "student",
        "src": source,
        "trg": target,
        "version": 1,
        "API": 1,
    }
