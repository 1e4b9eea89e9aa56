"""Names of other code: each is translated, in errors, docstrings and pages alike."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
import torch
from torch import nn

import headway
import headway.model
from headway.errors import TraceError
from headway.errors.elsewhere import ARGUMENTS, INTERMEDIATES, KERAS, ROWS, OtherNames

ROOT = Path(__file__).parents[3]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PAGES = [ROOT / "docs" / language / "names.md" for language in ("en", "ko")]
of_each_row = pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row.here.removeprefix('headway.')}-{row.names.split()[0]}"
)


def resolve(here: str) -> object:
    """Return the object of a dotted name, as a reader would import it."""
    room, _, name = here.rpartition(".")
    return getattr(importlib.import_module(room), name)


def docstring(here: str) -> str:
    """Return the docstring of a class or function; that of the Keras form without importing it."""
    if not here.startswith(KERAS):
        thing = resolve(here)
        headways = callable(thing) and thing.__module__.startswith("headway.")
        return thing.__doc__ or "" if headways else ""
    for path in (ROOT / "src" / Path(*KERAS.split("."))).glob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if (
                isinstance(node, ast.FunctionDef | ast.ClassDef)
                and node.name == here.split(".")[-1]
            ):
                return ast.get_docstring(node) or ""  # type: ignore[arg-type]
    raise AssertionError(here)


@of_each_row
def test_what_a_row_says_to_use_exists(row: OtherNames) -> None:
    assert docstring(row.here) if row.here.startswith(KERAS) else resolve(row.here)
    names = row.names.split()
    assert len(names) == len(set(names))
    assert row.difference.endswith(".")
    assert len(re.findall(r"\.(?= |$)", row.difference)) <= 2


@pytest.mark.parametrize("module", [headway, headway.model], ids=["headway", "model"])
def test_a_name_of_other_code_says_what_to_use_and_where_to_read(module: object) -> None:
    with pytest.raises(AttributeError) as told:
        module.MultiHeadedAttention  # noqa: B018 # type: ignore[attr-defined]
    assert str(told.value) == (
        f"module '{module.__name__}' has no attribute 'MultiHeadedAttention'. "  # type: ignore[attr-defined]
        "Use headway.MultiHeadAttention. The width comes first, as in MultiHeadAttention(512, 8). "
        "It returns the output alone; headway.trace shows the weights. "
        "See docs/en/names.md#several-heads."
    )


def test_the_statement_from_import_says_it_too() -> None:
    with pytest.raises(
        ImportError, match=r"cannot import name 'subsequent_mask' from 'headway.model'. Use headway"
    ):
        from headway.model import subsequent_mask  # type: ignore[attr-defined] # noqa: F401
    with pytest.raises(ImportError, match=r"Use headway\.paper_rate"):
        from headway import NoamOpt  # type: ignore[attr-defined] # noqa: F401


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("MultiHeadAtention", "MultiHeadAttention"),
        ("Multi_Head_Attention", "MultiHeadAttention"),
        ("Transfomer", "Transformer"),
        ("paddingmask", "padding_mask"),
    ],
)
def test_a_near_miss_gets_the_name_itself(wrong: str, right: str) -> None:
    for module in (headway, headway.model):
        with pytest.raises(
            AttributeError, match=rf"has no attribute '{wrong}'. Did you mean '{right}'"
        ):
            getattr(module, wrong)


def test_an_unknown_name_gets_no_advice() -> None:
    with pytest.raises(AttributeError, match=r"^module 'headway' has no attribute 'xyz'$") as told:
        headway.xyz  # type: ignore[attr-defined] # noqa: B018
    assert (told.value.name, told.value.obj) == ("xyz", headway)
    with pytest.raises(ImportError, match=r"^cannot import name 'xyz' from 'headway' \("):
        from headway import xyz  # type: ignore[attr-defined] # noqa: F401


def test_a_file_is_imported_by_its_name_though_other_code_has_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = importlib.import_module("headway.model.attention")
    monkeypatch.delattr(headway.model, "attention")

    from headway.model import attention

    assert attention is file


def test_python_adds_no_second_guess_of_its_own() -> None:
    program = "import headway\nheadway.MultiHeadAtention"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stderr.endswith("'MultiHeadAtention'. Did you mean 'MultiHeadAttention'?\n")


@pytest.mark.parametrize(
    ("call", "right"),
    [
        (lambda: headway.MultiHeadAttention(512, n_head=8), "num_heads"),  # type: ignore[call-arg]
        (lambda: headway.MultiHeadAttention(d_feat=200, n_head=5), "d_model"),  # type: ignore[call-arg]
        (lambda: headway.MultiHeadAttention(h=8, d_model=512), "num_heads"),  # type: ignore[call-arg]
        (lambda: headway.PositionwiseFeedForward(512, hidden=2048), "d_ff"),  # type: ignore[call-arg]
        (lambda: headway.model.Residual(size=512), "d_model"),  # type: ignore[call-arg]
        (lambda: headway.model.TokenEmbedding(vocab=30, d_model=6), "vocab_size"),  # type: ignore[call-arg]
    ],
)
def test_an_argument_of_other_code_gets_the_right_one(call: object, right: str) -> None:
    with pytest.raises(TypeError, match=rf"has no argument '\w+'. Did you mean '{right}'\?"):
        call()  # type: ignore[operator]


def test_sizes_given_to_the_whole_model_lead_to_its_presets() -> None:
    with pytest.raises(TypeError, match=r"^Transformer\(\) has no argument 'nhead'. From sizes: T"):
        headway.Transformer(nhead=8)  # type: ignore[call-arg]


def test_every_argument_named_is_one_of_a_layer() -> None:
    layers = [getattr(headway.model, name) for name in headway.model.__all__]
    known = {
        name
        for layer in layers
        if isinstance(layer, type)
        for name in inspect.signature(layer).parameters
    }
    assert set(ARGUMENTS.values()) <= known
    assert not set(ARGUMENTS) & known


def test_a_trace_knows_the_intermediates_of_other_code() -> None:
    attend = headway.MultiHeadAttention(6, 2)
    x = torch.randn(1, 3, 6)
    with headway.trace(attend) as seen:
        attend(x, x, x)
    assert set(INTERMEDIATES.values()) <= set(seen.names())
    for name, ours in INTERMEDIATES.items():
        with pytest.raises(TraceError, match=rf"no '{name}'. Did you mean '{ours}'"):
            seen[name]


def _listed(text: str) -> set[str]:
    """Return the names of the line "Elsewhere: …" of a docstring."""
    lines = re.findall(r"\n\s*Elsewhere: ((?:\w+(?:,\s+)?)+)\.(?:\s*$|\n)", text)
    return set(re.split(r",\s+", lines[0])) if lines else set()


def test_docstrings_list_the_names_of_the_table_and_no_others() -> None:
    names: dict[str, set[str]] = defaultdict(set)
    for row in ROWS:
        names[row.here] |= set(row.names.split()) - {row.here.rpartition(".")[2]}
    docstrings = {here: text for here in names if (text := docstring(here))}
    assert {here: _listed(text) for here, text in docstrings.items()} == {
        here: names[here] for here in docstrings
    }
    lists = [path.read_text("utf-8").count("    Elsewhere: ") for path in SOURCES]
    assert sum(lists) == len(docstrings) >= 30


@pytest.mark.parametrize("page", PAGES, ids=["en", "ko"])
def test_the_page_has_every_name_in_a_row_with_the_one_to_use(page: Path) -> None:
    text = page.read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for row in ROWS:
        last = row.here.rpartition(".")[2]
        missing = {
            name
            for name in row.names.split()
            if not any(
                f"`{name}`" in line and (f"`{last}" in line or f"`{row.here}" in line)
                for line in rows
            )
        }
        assert not missing, row.here
    for name, ours in (INTERMEDIATES | ARGUMENTS).items():
        assert any(f"`{name}`" in line and f"`{ours}`" in line for line in rows), name


def test_every_section_named_is_one_of_the_page() -> None:
    headings = re.findall(r"^## (.*)$", PAGES[0].read_text("utf-8"), flags=re.MULTILINE)
    anchors = {heading.lower().replace(" ", "-") for heading in headings}
    assert {row.section for row in ROWS} <= anchors


def test_pytorchs_names_are_still_those_of_the_table() -> None:
    assert hasattr(nn.Transformer, "generate_square_subsequent_mask")
    listed = {name for row in ROWS for name in row.names.split()}
    assert {name for name in vars(nn) if name.startswith("Transformer")} <= listed | {"Transformer"}
