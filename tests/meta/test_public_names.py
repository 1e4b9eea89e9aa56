"""The public names: few, sorted, documented, loaded when asked for."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import headway
import headway.model


def test_public_names_are_sorted_and_each_has_a_home() -> None:
    assert headway.__all__ == sorted(headway.__all__)
    assert set(headway.__all__) == set(headway._HOMES)
    assert len(headway.__all__) <= 35


@pytest.mark.parametrize("name", headway.__all__)
def test_every_public_name_exists_and_is_documented(name: str) -> None:
    assert getattr(headway, name).__doc__
    assert name in dir(headway)


def test_every_class_of_the_model_and_every_function_of_the_paper_is_a_name_of_its_room() -> None:
    assert headway.model.__all__ == sorted(headway.model.__all__)
    assert set(headway.model.__all__) == set(headway.model._HOMES)
    classes = set()
    for path in Path(headway.model.__file__).parent.glob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and "nn.Module" in map(ast.unparse, node.bases):
                classes.add(node.name)
    assert len(classes) >= 13
    assert classes <= set(headway.model.__all__)


@pytest.mark.parametrize("name", headway.model.__all__)
def test_every_name_of_the_model_exists_and_is_documented(name: str) -> None:
    assert getattr(headway.model, name).__doc__
    assert name in dir(headway.model)
    if name in headway.__all__:
        assert getattr(headway, name) is getattr(headway.model, name)


def test_importing_the_package_imports_nothing_heavy() -> None:
    program = (
        "import sys, headway; assert not {'torch', 'numpy', 'pydantic'} & set(sys.modules); "
        "headway.learn; assert not {'torch', 'matplotlib', 'pydantic'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
