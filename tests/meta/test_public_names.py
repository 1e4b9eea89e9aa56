"""The public names: few, sorted, documented, loaded when asked for."""

import subprocess
import sys

import pytest

import headway


def test_public_names_are_sorted_and_each_has_a_home() -> None:
    assert headway.__all__ == sorted(headway.__all__)
    assert set(headway.__all__) == set(headway._HOMES)
    assert len(headway.__all__) <= 22


@pytest.mark.parametrize("name", headway.__all__)
def test_every_public_name_exists_and_is_documented(name: str) -> None:
    assert getattr(headway, name).__doc__
    assert name in dir(headway)


def test_an_unknown_name_is_an_attribute_error() -> None:
    program = [sys.executable, "-c", "import headway; headway.Transfomer"]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.stderr.endswith(
        "module 'headway' has no attribute 'Transfomer'. Did you mean: 'Transformer'?\n"
    )


def test_importing_the_package_imports_nothing_heavy() -> None:
    program = "import sys, headway; assert not {'torch', 'numpy', 'pydantic'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
