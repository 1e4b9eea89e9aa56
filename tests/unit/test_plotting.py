"""Matplotlib is imported in any environment, or an error says why not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headway.errors import MissingExtraError
from headway.plotting import import_matplotlib

BACKENDS = """
import os, sys
from headway.errors import MissingExtraError
from headway.plotting import import_matplotlib
import_matplotlib()
import matplotlib
assert os.environ["MPLBACKEND"] == sys.argv[1]
print(matplotlib.rcParams._get("backend"))
"""


@pytest.mark.parametrize(
    ("backend", "taken"),
    [
        ("module://not_installed.inline", "module://not_installed.inline"),
        ("no-such-backend", ""),
        ("svg", "svg"),
    ],
)
def test_a_backend_is_taken_where_matplotlib_knows_it(backend: str, taken: str) -> None:
    pytest.importorskip("matplotlib")

    done = subprocess.run(
        [sys.executable, "-c", BACKENDS, backend],
        env=os.environ | {"MPLBACKEND": backend},
        capture_output=True,
        text=True,
        check=True,
    )

    if taken:
        assert done.stdout.strip() == taken
    else:
        assert backend not in done.stdout


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("raise AttributeError('_ARRAY_API not found')", "AttributeError: _ARRAY_API not found"),
        ("raise SystemError('init failed')", "SystemError: init failed"),
        ("import nothing_of_this_name", "which is not installed"),
    ],
)
def test_an_installation_that_is_broken_is_named(
    source: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "matplotlib.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)

    with pytest.raises(MissingExtraError) as caught:
        import_matplotlib()

    assert message in str(caught.value)
    assert os.environ["MPLBACKEND"] == "agg"
