"""Kill workers of a bulk translation at random moments, and compare the merged text.

    python benchmarks/bulk_kills.py MODEL TEXT [--kills 50] [--workers 4] [--shards 100]

The text is translated twice: by one worker in peace, and by several, of which one at a time is
killed by SIGKILL and replaced. Both merged files must have the same bytes. It needs `fork`.
"""

import argparse
import multiprocessing
import os
import random
import signal
import tempfile
import time
from pathlib import Path

from headway.bulk import whole
from headway.bulk.plan import write_plan
from headway.bulk.planning import make_plan
from headway.bulk.work import load_worker
from headway.data.lines import count_lines

LEASE = 1.0  # seconds; so that the shard of a killed worker is soon free


def work(folder: Path) -> None:
    """Work until no shard is free, and again until all are done."""
    worker = load_worker(folder, lambda shard, manifest: None)
    while worker.work(lease=LEASE, until=lambda: False) == 3:
        time.sleep(LEASE / 2)


def killed(folder: Path, kills: int, workers: int, seed: int) -> int:
    """Work with several processes; return how many were killed before all was done."""
    context, draw = multiprocessing.get_context("fork"), random.Random(seed)
    running = [context.Process(target=work, args=(folder,)) for _ in range(workers)]
    for process in running:
        process.start()
    done = 0
    while any(process.is_alive() for process in running) and done < kills:
        time.sleep(draw.uniform(0.2, 2.0))
        index = draw.randrange(workers)
        if running[index].is_alive():
            os.kill(running[index].pid or 0, signal.SIGKILL)
            done += 1
        running[index].join()
        running[index] = context.Process(target=work, args=(folder,))
        running[index].start()
    for process in running:
        process.join()
    return done


def main() -> None:
    """Print the figures; exit 1 if the two files differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--shards", type=int, default=100)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    lines = count_lines(given.text)
    with tempfile.TemporaryDirectory() as temporary:
        results = []
        for name in ("peace", "kills"):
            folder = Path(temporary) / name
            plan = make_plan(
                given.model, [given.text], shard_lines=-(-lines // given.shards), column=None,
                into="", search={}, glossary=None, precision=given.precision, device="cpu",
                engine="auto", batch_tokens=16384,
            )  # fmt: skip
            write_plan(folder, plan)
            if name == "peace":
                process = multiprocessing.get_context("fork").Process(target=work, args=(folder,))
                process.start()
                process.join()
            else:
                count = killed(folder, given.kills, given.workers, given.seed)
                print(f"{count} workers killed, {len(plan.shards)} shards, {lines:,} lines")
            whole.merge(folder, plan, folder / "out.txt")
            results.append((folder / "out.txt").read_bytes())
        same = results[0] == results[1]
        print(
            f"{results[0].count(chr(10).encode()):,} lines; the merged files are "
            f"{'equal' if same else 'DIFFERENT'}"
        )
        raise SystemExit(not same)


if __name__ == "__main__":
    main()
