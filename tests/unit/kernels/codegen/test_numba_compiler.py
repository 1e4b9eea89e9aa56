"""Machine code is kept, and not beyond a change of anything that went into it."""

import gc
import importlib
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numba")

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import callee_and_caller.caller as caller

print(caller.twice(3), sum(caller.twice.stats.cache_hits.values()))
"""
CALLER = """
from callee_and_caller.compiling import compiled
from callee_and_caller.callee import factor


@compiled
def twice(x):
    return x * factor()
"""
CALLEE = """
from callee_and_caller.compiling import compiled


@compiled
def factor():
    return {}
"""


def make_package(folder: Path) -> Path:
    from headway.kernels.codegen import numba_compiler

    package = folder / "callee_and_caller"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(numba_compiler.__file__, package / "compiling.py")
    (package / "caller.py").write_text(CALLER)
    return package


def run_program(folder: Path, before: str = "") -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", before + PROGRAM, str(folder)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout.split()


def test_a_change_in_a_file_is_seen_by_what_calls_it_from_another(tmp_path: Path) -> None:
    package = make_package(tmp_path)
    found = []
    for factor in (2, 2, 70):
        (package / "callee.py").write_text(CALLEE.format(factor))
        os.utime(package / "callee.py", ns=(factor, factor))  # written again, it is no other
        found.append(run_program(tmp_path))

    assert found == [["6", "0"], ["6", "1"], ["210", "0"]]


SUMS = """
import sys
import numpy as np
from headway.kernels.cross_entropy import _read_row, smoothed_losses

logits = np.random.default_rng(0).standard_normal((50, 600)).astype(np.float32)
if "callee first" in sys.argv:
    _read_row(logits, 0, np.empty(600, np.float32))
losses, grads = np.zeros((50, 2)), np.zeros((1, 0), np.float32)
smoothed_losses(logits, np.arange(4, 54), 0.1, 0, True, losses, grads, 50, 1, 0)
print(losses.tobytes().hex(), logits.tobytes().hex())
"""


def test_what_is_compiled_here_computes_the_same_bits_as_what_was_kept(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    found = [
        subprocess.run(
            [sys.executable, "-c", SUMS, order],
            check=True, capture_output=True, text=True, env=environment,
        ).stdout
        for order in ("compiled", "kept", "callee first")
    ]  # fmt: skip

    assert found[0]
    assert found[0] == found[1] == found[2]


def test_tiles_are_asked_for_where_the_processor_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from headway.kernels.codegen import numba_compiler

    has_amx, answers = numba_compiler.has_amx.__wrapped__, [True, False]
    monkeypatch.setattr(numba_compiler, "request_tiles", lambda: answers.pop())
    monkeypatch.setattr(numba_compiler, "host_has", lambda feature: True)
    assert [has_amx(), has_amx()] == [False, True]

    monkeypatch.setattr(numba_compiler, "host_has", lambda feature: feature != "amx-int8")
    assert not has_amx()


def test_a_damaged_file_or_a_full_disk_is_no_machine_code_and_is_mended(tmp_path: Path) -> None:
    package = make_package(tmp_path)
    (package / "callee.py").write_text(CALLEE.format(2))

    full = "import numba.core.caching as c\ndef no(*_): raise OSError(28, 'full')\n"
    assert run_program(tmp_path, full + "c.IndexDataCacheFile.save = no\n") == ["6", "0"]
    assert run_program(tmp_path) == ["6", "0"]
    for kind, size in (("nbi", 0), ("nbc", 0), ("nbc", 300), ("nbi", 20)):
        for path in (package / "__pycache__").glob(f"*.{kind}"):
            path.write_bytes(path.read_bytes()[:size])
        assert run_program(tmp_path) == ["6", "0"], (kind, size)
        assert run_program(tmp_path) == ["6", "1"], (kind, size)


def test_two_that_write_at_once_number_their_files_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numba
    from numba.core.caching import IndexDataCacheFile

    from headway.kernels.codegen import numba_compiler

    (tmp_path / "tripling.py").write_text("def triple(x):\n    return 3 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    triple = importlib.import_module("tripling").triple
    save_index = IndexDataCacheFile._save_index

    def save_late(file: IndexDataCacheFile, overloads: dict[object, str]) -> None:
        time.sleep(0.05)  # between reading the index and writing it
        save_index(file, overloads)

    monkeypatch.setattr(IndexDataCacheFile, "_save_index", save_late)
    codes: list[Any] = [numba_compiler.compiled(triple) for _ in range(2)]
    kinds = [(numba.int64,), (numba.float64,)]
    for code, kind in zip(codes, kinds, strict=True):
        code.compile(kind)
    codes[0]._cache.flush()  # to write both again, at once
    writers = [
        threading.Thread(target=code._cache.save_overload, args=[kind, code.overloads[kind]])
        for kind, code in zip(kinds, codes, strict=True)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    index = codes[0]._cache._cache_file._load_index()
    assert {key[0] for key in index} == set(kinds)
    assert len(set(index.values())) == 2


def test_code_is_read_from_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    package = make_package(tmp_path)
    (package / "callee.py").write_text(CALLEE.format(2))
    read_only = (
        "import tempfile\ndef no(*_, **__): raise PermissionError\ntempfile.TemporaryFile = no\n"
    )
    assert run_program(tmp_path, read_only) == ["6", "0"]
    assert run_program(tmp_path) == ["6", "0"]
    assert run_program(tmp_path, read_only) == ["6", "1"]

    (package / "callee.py").write_text(CALLEE.format(70))  # code of other sources is not used
    assert run_program(tmp_path, read_only) == ["210", "0"]
    for path in (package / "__pycache__").glob("*.nbi"):
        path.write_bytes(b"")
    assert run_program(tmp_path, read_only) == ["210", "0"]


def test_seconds_of_the_compiler_grow_when_something_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headway.kernels.codegen.numba_compiler import compiled, kept_in, seconds_compiling

    (tmp_path / "doubling.py").write_text("def double(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    function = compiled(importlib.import_module("doubling").double)

    before = seconds_compiling()
    assert function(1.5) == 3.0
    after = seconds_compiling()
    assert after > before
    assert function(2.5) == 5.0
    assert seconds_compiling() == after
    assert any(kept_in(function).glob("doubling.double*.nbc"))


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_rests_while_the_compiler_works(
    monkeypatch: pytest.MonkeyPatch, enabled: bool
) -> None:
    from headway.kernels.codegen.numba_compiler import _Compilations

    compilations, calls = _Compilations(), []
    monkeypatch.setattr(gc, "isenabled", lambda: enabled)
    monkeypatch.setattr(gc, "disable", lambda: calls.append("disable"))
    monkeypatch.setattr(gc, "enable", lambda: calls.append("enable"))
    for report in ("on_start", "on_start", "on_end", "on_end"):  # of a kernel and its callee
        assert "enable" not in calls
        getattr(compilations, report)(None)

    assert calls == ["disable", "enable"][: 1 + enabled]
