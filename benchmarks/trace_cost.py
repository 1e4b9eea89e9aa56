"""What named intermediates cost: without probes, with probes that nobody hears, and traced.

    python benchmarks/trace_cost.py [--preset tiny] [--rounds 200] [--threads 1]

The model without probes is compiled from the same source with each `probe(self, name, x)` replaced
by x. The three take turns on the same sentences; printed are medians of the ratios of one turn,
with the quartiles, for a sentence alone, where a probe's cost shows most, and for a batch.
"""

import argparse
import ast
import statistics
import sys
import time
import types
from pathlib import Path

import torch
from torch import nn

import headway
import headway.model

PARTS = (
    "cache", "dropout", "masks", "positional_encoding", "residual", "attention", "feed_forward",
    "embedding", "encoder", "decoder", "initialization", "transformer",
)  # fmt: skip


class WithoutProbes(ast.NodeTransformer):
    """Replace each offer of an intermediate by the intermediate."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Drop `probe(…)` around its tensor, and let nobody listen."""
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "probe":
            return node.args[2]
        return ast.Constant(False) if name == "listening" else node


def without_probes() -> types.ModuleType:
    """Return the module `transformer` of a model that never had a probe."""
    folder = Path(headway.model.__path__[0])
    sys.modules["bare"] = types.ModuleType("bare")
    for part in PARTS:
        source = (folder / f"{part}.py").read_text(encoding="utf-8")
        source = source.replace("from headway.model.", "from bare.")
        source = source.replace("from bare.probe", "from headway.model.probe")
        tree = ast.fix_missing_locations(WithoutProbes().visit(ast.parse(source)))
        module = sys.modules[f"bare.{part}"] = types.ModuleType(f"bare.{part}")
        exec(compile(tree, f"{part}.py without probes", "exec"), module.__dict__)
    return sys.modules["bare.transformer"]


def seconds(model: nn.Module, ids: tuple[torch.Tensor, torch.Tensor], passes: int) -> float:
    """Return the processor time of some passes."""
    started = time.process_time()
    for _ in range(passes):
        model(*ids)
    return time.process_time() - started


def traced_seconds(model: nn.Module, ids: tuple[torch.Tensor, torch.Tensor], passes: int) -> float:
    """Return the processor time of some passes, each with a trace of its own."""
    started = time.process_time()
    for _ in range(passes):
        with headway.trace(model):
            model(*ids)
    return time.process_time() - started


def report(name: str, ratios: list[float]) -> None:
    """Print the median of some ratios with its quartiles."""
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"  {name:<24} {middle:.4f}  (quartiles {low:.4f} to {high:.4f})", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    config = getattr(headway.presets, given.preset)(8000)
    model = headway.Transformer.from_config(config).eval()
    bare = without_probes().Transformer.from_config(config).eval()
    bare.load_state_dict(model.state_dict(), assign=True)  # the very same memory
    for sentences, pieces, passes in ((1, 12, 8), (32, 20, 1)):
        source, target = torch.randint(4, 8000, (2, sentences, pieces))
        ids = (source, target)
        off, on = [], []
        with torch.inference_mode():
            assert torch.equal(model(*ids), bare(*ids))
            for turn in range(given.rounds + 5):
                # Each is once first and once last, and begins and ends a turn as often.
                order = [bare, model, model, bare] if turn % 2 else [model, bare, bare, model]
                times = {bare: 0.0, model: 0.0}
                for one in order:
                    times[one] += seconds(one, ids, passes)
                traced = traced_seconds(model, ids, passes)
                seconds(model, ids, passes)  # takes the memory that the traces have left
                if turn >= 5:
                    off.append(times[model] / times[bare])
                    on.append(2 * traced / times[model])
        print(f"{given.preset}, {sentences} sentences of {pieces} + {pieces} pieces")
        report("off / without probes", off)
        report("on / off", on)


if __name__ == "__main__":
    main()
