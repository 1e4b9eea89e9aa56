"""The house: short functions, named modules, tests that mirror the source."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "headway"
SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")


def _functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    kinds = ast.FunctionDef, ast.AsyncFunctionDef
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def test_nine_functions_in_ten_are_under_thirty_lines() -> None:
    lengths = [(f.end_lineno or 0) - f.lineno + 1 for path in SOURCES for f in _functions(path)]
    assert sum(length < 30 for length in lengths) >= 0.9 * len(lengths)


@pytest.mark.parametrize("room", ["model", "training", "decoding"])
def test_no_function_takes_anything_at_all(room: str) -> None:
    for path in (PACKAGE / room).rglob("*.py"):
        for function in _functions(path):
            assert function.args.kwarg is None, f"{path.name}: {function.name}"


def test_there_is_no_drawer() -> None:
    assert not [p for p in SOURCES if p.stem in ("utils", "util", "helpers", "common", "misc")]


def test_one_file_alone_knows_how_processes_talk() -> None:
    knows = {path.name for path in SOURCES if "torch.distributed" in path.read_text("utf-8")}
    assert knows == {"distributed.py"}
