"""Minutes of a recipe with our model and with the MarianMTModel of transformers, in one run.

    python benchmarks/minutes_to_bleu.py recipes/multi30k-en-de.toml --steps 9000 --out DIR

Ours is `headway train` as it comes: reading, validation, checkpoints and the test score are in its
minutes. The peer gets our batches, order, schedule, Adam, clipping and averaging of weights, and
`F.cross_entropy` on all logits; only its steps and snapshots count. The two take turns on the
machine, each stopped while the other runs, so that both meet the same noise. Prints one line of
JSON; needs the extra `marian`.
"""

import argparse
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from headway.bench.peers import build_marian, marian_logits
from headway.bench.work import Size
from headway.config.run import RunConfig, load_run_config
from headway.data.tokenizer import END_ID, PAD_ID, START_ID, Tokenizer
from headway.evaluation.metrics import score_texts
from headway.training.encode import encode_texts
from headway.training.objective import autocast
from headway.training.optimizer import build_optimizer
from headway.training.schedule import Schedule, paper_peak
from headway.training.stream import BatchGroup, BatchStream
from headway.training.texts import Texts, read_texts
from headway.training.tokenizers import build_tokenizers

TURN = (
    20.0  # seconds; much longer than caches need to fill, shorter than a machine's changes of speed
)


def main() -> None:
    """Read the arguments; compare, or be the peer."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="a folder that does not exist")
    parser.add_argument("--steps", type=int, help="those of the recipe unless given")
    parser.add_argument("--directory", help="where the text is, if not where the recipe says")
    parser.add_argument("--peer-precision", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--as-peer", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    settings = []
    if arguments.steps:
        settings.append(f"training.max_steps={arguments.steps}")
    if arguments.directory:
        settings.append(f"data.directory={arguments.directory}")
    config = load_run_config(arguments.recipe, settings)
    if arguments.as_peer:
        torch.set_num_threads(arguments.threads)
        train_peer(config, arguments.out / "peer", arguments.peer_precision)
        return
    arguments.out.mkdir(parents=True)
    ours = ["-m", "headway", "train", str(arguments.recipe), "--out", str(arguments.out / "ours")]
    commands = {
        "ours": [*ours, "--quiet", *itertools.chain(*(["--set", setting] for setting in settings))],
        "peer": [*sys.argv, "--as-peer"],
    }
    seconds, memory = take_turns(commands, arguments.out / "turns.jsonl", arguments.threads)
    report = json.loads((arguments.out / "ours" / "report.json").read_text())
    print(
        json.dumps(
            {
                "steps": config.training.max_steps,
                "ours": {
                    "minutes": seconds["ours"] / 60,
                    "precision": report["precision"],
                    **{score["name"]: score["value"] for score in report["test"]},
                },
                "peer": {
                    "minutes": seconds["peer"] / 60,
                    "precision": arguments.peer_precision,
                    **score_peer(config, arguments.out / "peer"),
                },
                "ratio": seconds["peer"] / seconds["ours"],
                "peak_memory": memory,
            }
        )
    )


def take_turns(
    commands: dict[str, list[str]], log: Path, threads: int
) -> tuple[dict[str, float], dict[str, int]]:
    """Run the commands by turns; return the seconds that each ran and the most bytes it held."""
    seconds = dict.fromkeys(commands, 0.0)
    memory = dict.fromkeys(commands, 0)
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    running: dict[str, subprocess.Popen[bytes]] = {}
    for name, command in commands.items():
        process = subprocess.Popen(
            [sys.executable, *command], env=environment, process_group=0, stdout=sys.stderr
        )
        running[name] = process
        os.killpg(process.pid, signal.SIGSTOP)
    try:
        with log.open("w") as lines:
            for name in itertools.cycle(commands):
                if name not in running:
                    continue
                process, began = running[name], time.perf_counter()
                os.killpg(process.pid, signal.SIGCONT)
                most = wait(process)
                if most is None:
                    os.killpg(process.pid, signal.SIGSTOP)
                    held = resident(process.pid)
                else:
                    held = memory[name] = most
                    del running[name]
                turn = time.perf_counter() - began
                seconds[name] += turn
                line = {"name": name, "seconds": turn, "resident": held}
                lines.write(json.dumps(line) + "\n")
                lines.flush()
                if process.returncode:
                    raise SystemExit(f"{name} failed with {process.returncode}.")
                if not running:
                    break
    finally:
        for process in running.values():  # no other process would ever continue or end them
            os.killpg(process.pid, signal.SIGKILL)
    return seconds, memory


def wait(process: subprocess.Popen[bytes]) -> int | None:
    """Wait for one turn; return the most bytes that the process held if it ended, else None."""
    end = time.perf_counter() + TURN
    while time.perf_counter() < end:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_maxrss * 1024
        time.sleep(0.05)
    return None


def resident(pid: int) -> int:
    """Return how many bytes a process holds; 0 where it has just ended."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def prepared(config: RunConfig) -> tuple[Texts, Tokenizer]:
    """Return text and tokenizer as our own run makes them."""
    texts = read_texts(config.data)
    tokenizer, target = build_tokenizers(config.tokenizer, texts.train, config.training.seed)
    assert tokenizer == target, "MarianMTModel has one vocabulary"
    return texts, tokenizer


def build_peer(config: RunConfig, vocabulary: int) -> Any:
    """Return a MarianMTModel of the sizes of our model."""
    model = config.model.with_vocabulary(vocabulary, vocabulary)
    assert model.num_encoder_layers == model.num_decoder_layers
    size = Size(model.num_encoder_layers, model.d_model, model.d_ff, model.num_heads)
    return build_marian(size, vocabulary, dropout=model.dropout, start_id=START_ID)


def train_peer(config: RunConfig, folder: Path, precision: str) -> None:
    """Train a MarianMTModel on our batches and leave its averaged weights in the folder."""
    folder.mkdir()
    training = config.training
    texts, tokenizer = prepared(config)
    encoded = encode_texts(texts, tokenizer, tokenizer, config.data)
    stream = BatchStream(
        encoded.train,
        max_tokens=training.batch_tokens,
        accumulate=training.accumulate,
        seed=training.seed,
    )
    torch.manual_seed(training.seed)
    model = build_peer(config, tokenizer.vocabulary_size)
    model.train()
    optimizer = build_optimizer(
        model,
        training.adam_beta_1,
        training.adam_beta_2,
        training.adam_epsilon,
        training.weight_decay,
    )
    peak = training.learning_rate or paper_peak(model.config.d_model, training.warmup_steps)
    schedule = Schedule(training.schedule, peak, training.warmup_steps, training.max_steps)
    snapshots: list[Path] = []
    for step, group in numbered(stream, training.max_steps):
        for parameters in optimizer.param_groups:
            parameters["lr"] = schedule(step)
        loss = peer_step(model, group, precision, training.label_smoothing)
        if training.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), training.clip_norm)
        optimizer.step()
        optimizer.zero_grad()
        if step % training.record_every_steps == 0:
            print(f"peer: step {step}, loss {loss:.4f}", file=sys.stderr)
        if group.ends_epoch or step == training.max_steps:
            snapshots.append(folder / f"{step}.pt")
            torch.save(model.state_dict(), snapshots[-1])
            while len(snapshots) > training.average_checkpoints:
                snapshots.pop(0).unlink()
    torch.save(average(snapshots), folder / "averaged.pt")


def numbered(stream: BatchStream, steps: int) -> Iterator[tuple[int, BatchGroup]]:
    """Yield the groups of a run with the number of their step, which begins with 1."""
    return zip(range(1, steps + 1), stream.groups(), strict=False)


def peer_step(model: nn.Module, group: BatchGroup, precision: str, label_smoothing: float) -> float:
    """Add up the gradients of one update; return its loss, smoothing included."""
    tokens = sum(batch.num_target_tokens for batch in group.batches)
    total = 0.0
    for batch in group.batches:
        with autocast(precision, "cpu"):
            logits = marian_logits(model, batch.source_ids, batch.target_ids)
            loss = F.cross_entropy(
                logits.flatten(0, 1),
                batch.label_ids.flatten(),
                ignore_index=PAD_ID,
                label_smoothing=label_smoothing,
                reduction="sum",
            )
        (loss / tokens).backward()
        total += loss.item()
    return total / tokens


def average(files: list[Path]) -> dict[str, torch.Tensor]:
    """Return the mean of the weights in these files."""
    states = [torch.load(file) for file in files]
    return {
        name: torch.stack([state[name].double() for state in states]).mean(0).float()
        for name in states[0]
    }


@torch.inference_mode()
def score_peer(config: RunConfig, folder: Path) -> dict[str, float]:
    """Translate the test text with the peer's own search, and score it as ours is scored."""
    texts, tokenizer = prepared(config)
    model = build_peer(config, tokenizer.vocabulary_size)
    model.load_state_dict(torch.load(folder / "averaged.pt"))
    model.eval()
    decoding, outputs = config.decoding, []
    for start in range(0, len(texts.test), 50):
        sources = [pair.source for pair in texts.test[start : start + 50]]
        rows = [[*tokenizer.encode(source), END_ID] for source in sources]
        width = max(map(len, rows))
        ids = torch.tensor([row + [PAD_ID] * (width - len(row)) for row in rows])
        generated = model.generate(
            input_ids=ids,
            attention_mask=(ids != PAD_ID).long(),
            num_beams=decoding.beam_size,
            length_penalty=decoding.length_penalty,
            max_length=2 * width + 20,
            bad_words_ids=[[PAD_ID], [START_ID]],
        )
        outputs += [tokenizer.decode(row.tolist()) for row in generated]
    (folder / "test.txt").write_text("".join(f"{line}\n" for line in outputs))
    scores = score_texts(
        outputs,
        [pair.target for pair in texts.test],
        config.evaluation.metrics,
        config.evaluation.bleu_tokenize,
    )
    return {score.name: score.value for score in scores}


if __name__ == "__main__":
    main()
