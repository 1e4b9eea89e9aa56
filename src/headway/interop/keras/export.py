"""Write a bundle as a saved Keras model, after both have given the same logits."""

from dataclasses import dataclass
from pathlib import Path

from headway.bundle import Bundle, load_bundle, tokenizer_files
from headway.errors import BundleError
from headway.home import expanded
from headway.interop.cutting import check_sentencepiece_cuts
from headway.interop.folder import new_folder
from headway.interop.keras.backend import keras
from headway.interop.keras.parity import largest_difference
from headway.interop.keras.weights import from_bundle

# Every framework rounds float32 in another order; 1e-5 is usual for logits of order 10.
TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True)
class KerasExport:
    """The written model, and how close it is to the bundle."""

    folder: Path
    largest_difference: float
    """The largest difference between logits of the saved model and of the bundle."""


def export(source: Bundle | str | Path, folder: str | Path) -> KerasExport:
    """Write `model.keras` and the tokenizer of a bundle, or of the one in a folder, into a new one.

    The saved file is loaded again and compared with the bundle on sentences of random pieces, some
    of them padded. Raises BundleError, and writes nothing, if the logits differ by more than 1e-4
    or the folder has content.
    """
    bundle = source if isinstance(source, Bundle) else load_bundle(source)
    check_sentencepiece_cuts(bundle, "The folder for Keras")
    with new_folder(folder) as fresh:
        from_bundle(bundle).save(fresh / "model.keras")
        difference = largest_difference(bundle, keras.saving.load_model(fresh / "model.keras"))
        if not difference <= TOLERANCE:
            raise BundleError(
                f"The Keras model's logits differ from ours by {difference:.2g}, more than "
                f"{TOLERANCE:g}.",
                "Nothing was written. Please report it with `headway info` of this bundle.",
            )
        for name, tokenizer in tokenizer_files(bundle).items():
            (fresh / name).write_bytes(tokenizer)
    return KerasExport(expanded(folder).resolve(), difference)
