"""A trained demonstration for the pages: found on this machine, or trained once."""

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING

from headway.errors import RunError
from headway.home import cache_folder, expanded
from headway.learn.language import in_language

if TYPE_CHECKING:
    from headway.inspection.translator import Translator

VARIABLE = "HEADWAY_DEMONSTRATION"
_RUN = Path("runs") / "demo"
_REPORT = "report.json"  # of a finished run

_SENTENCES = {
    "training": {
        "en": "There is no trained demonstration yet. Training one now in {folder}: about 4 "
        "minutes on 2 cores, once.",
        "ko": "학습된 데모 모델이 아직 없습니다. 지금 {folder} 폴더에서 한 번만 학습합니다. "
        "코어 2개로 4분쯤 걸립니다.",
    },
    "trained": {"en": "Trained.", "ko": "학습을 마쳤습니다."},
}


def demonstration() -> "Translator":
    """Return the translator of a trained demonstration, Korean to English, on the CPU.

    It is the folder that the variable HEADWAY_DEMONSTRATION names; or `runs/demo` in the working
    folder or in one above it, where `headway demo` writes; or the one in the user's cache folder,
    which is trained on first use. Raises BundleError if the folder holds no usable model.
    """
    return _loaded(find_demonstration() or _trained(cache_folder() / "demonstration"))


def find_demonstration() -> Path | None:
    """Return the folder of a trained demonstration, or None if it must be trained first."""
    if named := os.environ.get(VARIABLE):
        return expanded(named)
    here = Path.cwd()
    places = [folder / _RUN for folder in (here, *here.parents)]
    places.append(cache_folder() / "demonstration")
    return next((place for place in places if (place / _REPORT).is_file()), None)


@functools.lru_cache(maxsize=1)
def _loaded(folder: Path) -> "Translator":
    from headway.inspection.translator import load

    # The pages show the same numbers on all processors, with and without a GPU.
    return load(folder, "cpu", precision="float32")


def _trained(folder: Path) -> Path:
    from headway.demo import run_demo
    from headway.training.run_folder import RunFolder

    print(in_language(_SENTENCES["training"]).format(folder=folder), flush=True)
    result = run_demo(folder, resume=RunFolder(folder).has_begun())
    if not result.report:
        raise RunError(
            "The training of the demonstration was stopped.", "Call it again to continue."
        )
    print(in_language(_SENTENCES["trained"]))
    return folder
