"""A model of moments, texts with all traps, and a plan of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.conftest import bundle_path, run

from headway.bulk.plan import Plan, read_plan, write_plan
from headway.bulk.planning import make_plan
from headway.bulk.work import Worker, load_worker

__all__ = ["bundle_path", "run"]

# Only \n ends a line: not U+2028, U+0085, form feed, vertical tab or a lone carriage return.
TRAPS = [
    "the cat sat", "", "a\u2028dog ran", "저는\u0085갑니다 .", "a\fdog", "ran\rfar", "the\x0bcat",
    "  the cat  ", "", "너는 온다 !", "a\u2029dog\x1c ran", "far\t",
    "우리는 자요 ?", "the cat sat far",
]  # fmt: skip

MakePlan = Callable[..., Plan]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_bytes("\n".join(TRAPS).encode())  # the last line has no end
    return path


@pytest.fixture
def planned(bundle_path: Path) -> MakePlan:
    def make(folder: Path, *paths: Path, shard_lines: int = 4, **named: Any) -> Plan:
        values = {
            "column": None, "into": "translation", "search": {}, "glossary": None,
            "precision": "float32", "device": "cpu", "engine": "reference", "batch_tokens": 64,
        }  # fmt: skip
        plan = make_plan(bundle_path, paths, shard_lines=shard_lines, **(values | named))
        write_plan(folder, plan)
        return read_plan(folder)

    return make


def ready(folder: Path) -> Worker:
    """Return a worker on the plan in a folder that reports to nobody."""
    return load_worker(folder, lambda shard, manifest: None)
