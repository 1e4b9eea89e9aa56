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


def test_dispatch_alone_asks_for_the_processor() -> None:
    questions = "host_has(", "get_capabilities", "_is_mkldnn_bf16_supported", 'find_spec("numba")'
    asks = {p.name for p in SOURCES if any(q in p.read_text("utf-8") for q in questions)}
    assert asks == {"dispatch.py", "numba_compiler.py"}  # the latter defines `host_has`


SYSTEM_MODULES = {
    "_thread", "ctypes", "fcntl", "grp", "mmap", "msvcrt", "posix", "pwd", "resource", "signal",
    "termios", "winreg",
}  # fmt: skip
SYSTEM_CALLS = {
    "chown", "fchmod", "fork", "fsync", "geteuid", "getuid", "kill", "killpg", "mkfifo",
    "register_at_fork", "rename", "replace", "sched_getaffinity", "sysconf", "waitpid",
}  # fmt: skip


def test_one_room_alone_knows_the_operating_system() -> None:
    knows = {path for path in SOURCES if _asks_the_system(ast.parse(path.read_text("utf-8")))}
    assert sorted(path for path in knows if path.parent != PACKAGE / "runtime") == []
    assert knows


def _asks_the_system(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                if {name.name for name in names} & SYSTEM_MODULES:
                    return True
            case ast.ImportFrom(module=module):
                if module in SYSTEM_MODULES:
                    return True
            case ast.Attribute(value=ast.Name(id="os"), attr=call):
                if call in SYSTEM_CALLS:
                    return True
            case ast.Call(args=[ast.Constant(value="fork")]):
                return True
    return False
