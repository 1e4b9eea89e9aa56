"""The cost of named intermediates: without probes, with probes and no trace, and traced.

    python benchmarks/trace_cost.py [--preset tiny] [--rounds 200] [--threads 1]

The model without probes is compiled from the same source with each `probe(self, name, x)` replaced
by x. The three take turns on the same sentences. Prints medians and quartiles of the ratios of one
turn, for a single sentence, where probes cost most, and for a batch.
"""

import argparse
import ast
import re
import statistics
import sys
import time
import types
from pathlib import Path

import torch
from torch import nn

import headway
import headway.model

# Files of the model that have probes or import a class that has, each after those it imports.
PARTS = (
    "residual", "attention", "feed_forward", "embedding", "encoder", "decoder", "initialization",
    "transformer",
)  # fmt: skip


class WithoutProbes(ast.NodeTransformer):
    """Replace each offer of an intermediate by the intermediate."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Replace `probe(…)` and `observe(…)` by their tensor, and `listening()` by False."""
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="probe" | "observe"), args=[*_, tensor]):
                return tensor
            case ast.Call(func=ast.Name(id="listening")):
                return ast.Constant(False)
            case ast.Call(func=ast.Name(id="partial"), args=[ast.Name(id="probe"), _]):
                return ast.Constant(None)  # the observer, which is never called
        return node


def without_probes() -> types.ModuleType:
    """Return the module `transformer` of a model that never had a probe."""
    folder = Path(headway.model.__path__[0])
    sys.modules["bare"] = types.ModuleType("bare")
    for part in PARTS:
        source = (folder / f"{part}.py").read_text(encoding="utf-8")
        source = re.sub(rf"from headway\.model\.({'|'.join(PARTS)}) ", r"from bare.\1 ", source)
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
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    config = getattr(headway.presets, arguments.preset)(8000)
    model = headway.Transformer.from_config(config).eval()
    bare = without_probes().Transformer.from_config(config).eval()
    bare.load_state_dict(model.state_dict(), assign=True)  # the very same memory
    for sentences, pieces, passes in ((1, 12, 8), (32, 20, 1)):
        source, target = torch.randint(4, 8000, (2, sentences, pieces))
        ids = (source, target)
        off, on = [], []
        with torch.inference_mode():
            assert torch.equal(model(*ids), bare(*ids))
            for turn in range(arguments.rounds + 5):
                # Each is once first and once last, and begins and ends a turn as often.
                order = [bare, model, model, bare] if turn % 2 else [model, bare, bare, model]
                times = {bare: 0.0, model: 0.0}
                for measured in order:
                    times[measured] += seconds(measured, ids, passes)
                traced = traced_seconds(model, ids, passes)
                seconds(model, ids, passes)  # takes the memory that the traces have left
                if turn >= 5:
                    off.append(times[model] / times[bare])
                    on.append(2 * traced / times[model])
        print(f"{arguments.preset}, {sentences} sentences of {pieces} + {pieces} pieces")
        report("off / without probes", off)
        report("on / off", on)


if __name__ == "__main__":
    main()
