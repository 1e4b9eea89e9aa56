"""Code that the tests do not run imports names that exist; the model without probes has none."""

import ast
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import torch

import headway

ROOT = Path(__file__).parents[2]
# Everything that `make test` does not import.
FOLDERS = ("benchmarks", "tests/browser", "tests/other_device")
SCRIPTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.py"))


def _defined(module: str) -> set[str]:
    """Return the names that a module of the package defines or imports, and its submodules."""
    path = ROOT / "src" / Path(*module.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    names = {part.stem for part in path.glob("*")} if path.is_dir() else set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {alias.asname or alias.name for alias in aliases}
    return names


@pytest.mark.parametrize(
    "script", SCRIPTS, ids=lambda script: f"{script.parent.name}/{script.stem}"
)
def test_every_name_that_a_script_imports_is_defined(script: Path) -> None:
    tree = ast.parse(script.read_text(encoding="utf-8"))
    imports = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("headway")
    ]
    for node in imports:
        assert {alias.name for alias in node.names} <= _defined(str(node.module)), node.module


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_model_without_probes_computes_the_same_and_is_not_traced() -> None:
    config = headway.ModelConfig(
        source_vocab_size=7, target_vocab_size=7, d_model=8, d_ff=12, num_heads=2,
        num_encoder_layers=1, num_decoder_layers=1,
    )  # fmt: skip
    model = headway.Transformer.from_config(config).eval()
    bare = _load("trace_cost").without_probes().Transformer.from_config(config).eval()
    bare.load_state_dict(model.state_dict())
    source, target = torch.tensor([[4, 5, 6]]), torch.tensor([[1, 5]])
    with headway.trace(bare) as seen:
        logits = bare(source, target)
    assert torch.equal(logits, model(source, target))
    assert list(seen.names()) == []
    with headway.trace(model) as seen:
        model(source, target)
    assert len(seen.names()) > 20


def test_the_limits_of_translation_count_each_weight_once() -> None:
    pytest.importorskip("numba")
    weights = _load("translation_limits").weights_multiplied
    config = headway.ModelConfig(
        source_vocab_size=7, target_vocab_size=7, d_model=8, d_ff=12, num_heads=2,
        num_encoder_layers=1, num_decoder_layers=2,
    )  # fmt: skip
    model = headway.Transformer.from_config(config)
    matrices = {name: p.numel() for name, p in model.named_parameters() if p.dim() == 2}
    of_memory = {name for name in matrices if "cross_attention.w_k" in name}
    of_memory |= {name for name in matrices if "cross_attention.w_v" in name}
    assert len(of_memory) == 4
    table = matrices.pop("source_embedding.tokens.weight")  # of all three, as output alone
    a_source_token = sum(n for k, n in matrices.items() if "encoder" in k or k in of_memory)
    assert weights(config, 1, 0) == a_source_token
    assert weights(config, 0, 1) == sum(matrices.values()) - a_source_token + table
    assert weights(config, 3, 5) == 3 * weights(config, 1, 0) + 5 * weights(config, 0, 1)
