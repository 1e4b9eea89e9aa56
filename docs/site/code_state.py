"""Outputs are kept until the cells, the package or the demonstration change.

MyST-NB keeps them by the cells of a page alone. The folder of the cache here also has the state of
everything else that a cell can see, and a new state lets Sphinx read all pages again.
"""

import hashlib
import os
from pathlib import Path
from typing import Any

from kernels import use_local_kernels
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]


def state(model: Path) -> str:
    """Return a short hash of the package's code and of the demonstration's files."""
    code = sorted((ROOT / "src" / "headway").rglob("*.py"))
    weights = [*sorted((model / "best").glob("*.safetensors")), model / "config.toml"]
    return _hash([*code, *weights])


def _hash(paths: list[Path]) -> str:
    seen = hashlib.sha256()
    for path in paths:
        seen.update(path.name.encode() + path.read_bytes())
    return seen.hexdigest()[:16]


def _use(app: Sphinx, config: Any) -> None:
    cells = os.environ.get("HEADWAY_CODE_STATE") or state(ROOT / "runs" / "demo")
    config.code_state = cells + _hash(sorted((ROOT / "docs" / "site").glob("*.py")))
    cache = Path(app.outdir).parent / "cells" / config.language / cells
    config.nb_execution_cache_path = str(cache)


def setup(app: Sphinx) -> dict[str, Any]:
    """Put the state into the configuration."""
    use_local_kernels()
    app.add_config_value("code_state", "", "env", types=[str])
    app.connect("config-inited", _use, priority=100)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
