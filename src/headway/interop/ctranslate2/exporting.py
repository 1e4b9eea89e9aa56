"""Write a bundle as a CTranslate2 model, after both have given the same translations."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.bundle import Bundle, load_bundle, tokenizer_files
from headway.errors import ConfigError, suggest
from headway.home import expanded
from headway.interop.ctranslate2.note import note
from headway.interop.ctranslate2.parity import Peer, compare, examples
from headway.interop.ctranslate2.spec import build_spec, check_expressible
from headway.interop.cutting import check_sentencepiece_cuts
from headway.interop.folder import new_folder

QUANTIZATIONS = ("none", "int8", "float16")


@dataclass(frozen=True, slots=True)
class Export:
    """The written model, and how close it is to the bundle."""

    folder: Path
    quantization: str
    sentences: int
    """Sentences on which the float32 model was compared with the bundle."""
    ties: int
    """Greedy translations among them that diverge where two pieces are equally probable."""
    largest_difference: float
    """The largest difference between log-probabilities of one piece, in float32."""
    changed: int
    """Greedy translations of the texts that quantization changes; 0 without quantization."""


def export(
    source: Bundle | str | Path,
    folder: str | Path,
    quantization: str = "none",
    texts: Sequence[str] = (),
) -> Export:
    """Write a bundle, or the bundle in a folder, as a CTranslate2 model into a new folder.

    The written model is compared with the bundle in float32, on sentences of random pieces and on
    `texts`: greedy translations piece by piece, and the log-probability of every piece to 1e-4. The
    folder also gets the tokenizers, the card and a README that says how to run it.

    quantization: how weights are stored, `none` (float32), `int8` or `float16`. Raises ConfigError
    for a model that CTranslate2 cannot express, and BundleError if the folder has content or the
    two diverge; it names sentence, position and pieces. After an error nothing is written.
    """
    bundle = source if isinstance(source, Bundle) else load_bundle(source)
    _check_quantization(quantization)
    check_expressible(bundle)
    check_sentencepiece_cuts(bundle, "CTranslate2")
    sample = examples(bundle, texts)
    with new_folder(folder) as fresh:
        write(bundle, fresh)
        parity = compare(bundle, fresh, sample)
        changed = 0
        if quantization != "none":
            sentences = [example for example in sample if example.is_text]
            exact = Peer(bundle, fresh, "float32").translate(sentences)
            write(bundle, fresh, quantization)
            # No CPU computes in float16, and CTranslate2 would warn that it takes float32 instead.
            compute_type = "float32" if quantization == "float16" else "default"
            rounded = Peer(bundle, fresh, compute_type).translate(sentences)
            changed = sum(a != b for a, b in zip(exact, rounded, strict=True))
    return Export(
        folder=expanded(folder).resolve(),
        quantization=quantization,
        sentences=parity.sentences,
        ties=parity.ties,
        largest_difference=parity.largest_difference,
        changed=changed,
    )


def write(bundle: Bundle, folder: str | Path, quantization: str = "none") -> None:
    """Write a bundle as a CTranslate2 model without comparing; replace files of the same names.

    If CTranslate2 cannot express the model, it raises ConfigError and writes nothing.
    """
    _check_quantization(quantization)
    check_expressible(bundle)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    spec = build_spec(bundle)
    spec.validate()
    spec.optimize(quantization=None if quantization == "none" else quantization)
    spec.save(str(target))
    for name, tokenizer in tokenizer_files(bundle).items():
        (target / name).write_bytes(tokenizer)
    if bundle.card:
        (target / "card.md").write_text(bundle.card, encoding="utf-8", newline="\n")
    (target / "README.md").write_text(note(bundle), encoding="utf-8", newline="\n")


def _check_quantization(quantization: str) -> None:
    if quantization not in QUANTIZATIONS:
        raise ConfigError(
            f"There is no quantization '{quantization}'.", suggest(quantization, QUANTIZATIONS)
        )
