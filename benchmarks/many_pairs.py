"""Train on more pairs than memory holds: time to the first step, memory, speed of the loader.

    python benchmarks/many_pairs.py --pairs 20000000 --folder /tmp/many

It writes synthetic pairs into files compressed with Zstandard and encodes them once in a separate
process. Then another process trains a tiny model on the encoded pairs. It prints one JSON line:
seconds to write and to encode, seconds from the start of the second process to its first step, the
peak memory of both, and target pieces a second that the loader gives and that training takes.
"""

import argparse
import json
import multiprocessing
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

STEPS = 60
WORDS, PHRASES = 3_000, 4_096


def config_of(folder: Path) -> Any:
    """Return a tiny training on these files."""
    from headway.config.run import parse_run_config

    return parse_run_config(
        {
            "data": {
                "directory": str(folder),
                "source": "part-*.source.zst",
                "target": "part-*.target.zst",
                "valid_source": "valid.source",
                "valid_target": "valid.target",
                "shards": "kept",
            },
            "tokenizer": {"kind": "bpe", "vocabulary_size": 4000, "sample_pairs": 200_000},
            "model": {"preset": "tiny"},
            "training": {"max_steps": STEPS, "batch_tokens": 4096, "precision": "float32"},
        }
    )


def write_text(folder: Path, pairs: int, files: int) -> None:
    """Write pairs of sentences, each three phrases of one to four words; the target is its own."""
    from backports import zstd

    rng = np.random.default_rng(1)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    words = ["".join(rng.choice(syllables, rng.integers(1, 4))) for _ in range(WORDS)]
    phrases = [
        [" ".join(rng.choice(words, rng.integers(1, 5))) for _ in range(PHRASES)] for _ in range(2)
    ]
    for number in range(files):
        chosen = rng.integers(0, PHRASES, (pairs // files, 3)).tolist()
        for name, side in zip(("source", "target"), phrases, strict=True):
            lines = "".join(f"{side[a]} {side[b]} {side[c]}\n" for a, b, c in chosen)
            path = folder / f"part-{number:03d}.{name}.zst"
            path.write_bytes(zstd.compress(lines.encode(), level=1))
            if number == 0:
                (folder / f"valid.{name}").write_text("\n".join(lines.split("\n")[:200]) + "\n")


def in_a_process(work: Callable[[Path], dict[str, float]], folder: Path) -> dict[str, float]:
    """Do the work in a fresh process; return what it measured, and the most memory it held."""
    # Not a pool of `multiprocessing`: its processes may have none of their own to encode text.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measured, work, folder).result()


def measured(work: Callable[[Path], dict[str, float]], folder: Path) -> dict[str, float]:
    """Do the work here and measure it."""
    start = time.perf_counter()
    figures = work(folder)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return figures | {"seconds": time.perf_counter() - start, "memory": memory}


def encode(folder: Path) -> dict[str, float]:
    """Train a tokenizer and encode all text."""
    from headway.training.encode import encode_texts
    from headway.training.texts import read_texts
    from headway.training.tokenizers import find_tokenizers

    config = config_of(folder)
    texts = read_texts(config.data)
    tokenizers = find_tokenizers(config, texts).sides
    start = time.perf_counter()
    train = encode_texts(texts, *tokenizers, config.data).train
    return {"pairs": len(train), "encoding": time.perf_counter() - start}


def train(folder: Path) -> dict[str, float]:
    """Train some steps on what is kept."""
    from headway.training.reporting import Reporter
    from headway.training.run import train as run
    from headway.training.update import StepResult

    class Clock(Reporter):
        began = time.perf_counter()
        first = last = 0.0
        tokens = 0

        def step(self, step: int, result: StepResult) -> None:
            self.last = time.perf_counter()
            if step == 1:
                self.first = self.last
            else:
                self.tokens += result.target_tokens

    clock = Clock(quiet=True)
    run(config_of(folder), folder / f"run-{time.time_ns()}", reporter=clock)
    return {
        "to_first_step": clock.first - clock.began,
        "target_pieces_per_second": clock.tokens / (clock.last - clock.first),
    }


def load(folder: Path) -> dict[str, float]:
    """Ask for as many batches as a block and some have, and do nothing with them."""
    from headway.training.encode import encode_texts
    from headway.training.run_stream import build_stream
    from headway.training.texts import read_texts
    from headway.training.tokenizers import find_tokenizers

    config = config_of(folder)
    texts = read_texts(config.data)
    tokenizers = find_tokenizers(config, texts).sides
    encoded = encode_texts(texts, *tokenizers, config.data)
    stream = build_stream(config, texts, encoded, tokenizers)
    start = time.perf_counter()
    groups = islice(stream.groups(), 2_000)
    tokens = sum(batch.num_target_tokens for group in groups for batch in group.batches)
    return {"target_pieces_per_second": tokens / (time.perf_counter() - start)}


def main() -> None:
    """Write, encode, train, load."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=20_000_000)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--folder", type=Path, required=True)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    if not (args.folder / "valid.source").exists():
        write_text(args.folder, args.pairs, args.files)
    figures: dict[str, Any] = {"writing": time.perf_counter() - start}
    for name, work in (("encode", encode), ("train", train), ("load", load)):
        figures[name] = in_a_process(work, args.folder)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
