"""The site that `make docs` has built, and the programs that build it.

The files are called `check_*.py`: `make test` has neither Sphinx nor the site.
"""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "site"))


@pytest.fixture(scope="session")
def built() -> Path:
    """Return the folder of the site."""
    folder = Path(os.environ.get("HEADWAY_SITE", ROOT / "build" / "docs"))
    assert (folder / "index.html").is_file(), "There is no site. Run `make docs`."
    return folder
