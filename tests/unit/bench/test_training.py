"""The comparison measures the same work for everybody, and says it in one JSON line."""

import json

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from headway.bench import peers, training, work
from headway.bench.contestants import Resting
from headway.bench.training import TrainingComparison, compare_training
from headway.bench.work import Size, Task, default_task
from headway.cli.app import main
from headway.errors import ConfigError, MissingExtraError

SMALL = Size(num_layers=1, d_model=12, d_ff=20, num_heads=2)
TASK = Task("small", "cpu", sentences=5, length=7)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add a size that takes milliseconds."""
    monkeypatch.setitem(work.SIZES, "small", SMALL)


def test_the_operations_are_those_that_a_counter_sees(small: None) -> None:
    step = work.our_step(None, TASK, "float32")
    with FlopCounterMode(display=False) as counter:
        step()
    # The counter does not know products with out=, such as the gradient of the decoder's output.
    unseen = 2 * TASK.target_tokens * SMALL.d_model * work.VOCABULARY
    assert counter.get_total_flops() + unseen == work.training_operations(TASK)


@pytest.mark.parametrize("peer", ["marian", "torch"])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_peer_learns(peer: str, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    models = []
    build = peers.PEERS[peer]

    def watched(size: Size) -> object:
        model, logits_of = build(size)
        models.append(model)
        return model, logits_of

    monkeypatch.setitem(peers.PEERS, peer, watched)
    monkeypatch.setitem(work.SIZES, "small", SMALL)
    step = peers.peer_step(None, TASK, peer, precision)
    before = [parameter.clone() for parameter in models[0].parameters()]

    step()

    changed = [not torch.equal(a, b) for a, b in zip(before, models[0].parameters(), strict=True)]
    assert sum(changed) > 0.7 * len(changed)
    assert models[0].training


def test_everybody_has_the_same_number_of_weights(small: None) -> None:
    ours = work.our_model("small")
    count = sum(p.numel() for p in ours.parameters())
    marian, _ = peers.PEERS["marian"](SMALL)
    trained = sum(p.numel() for p in marian.parameters() if p.requires_grad)
    assert trained == count
    theirs, _ = peers.PEERS["torch"](SMALL)
    closing_norms = 2 * 2 * SMALL.d_model  # nn.Transformer closes both stacks with one
    assert sum(p.numel() for p in theirs.parameters()) == count + closing_norms


def test_a_peer_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'headway\[marian\]'"):
        peers.peer_step(None, default_task("tiny", "cpu"), "marian", "float32")


def test_as_many_matrix_products_are_made_as_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "_width", lambda task: 8)
    made: list[int] = []
    monkeypatch.setattr(work.torch, "mm", lambda a, b, out: made.append(2 * a.numel() * b.size(1)))

    work.matrix_product(None, TASK, "float32")()

    assert sum(made) == work.product_operations(TASK)


def test_time_is_taken_when_the_device_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    monkeypatch.setattr(torch.accelerator, "synchronize", done.append)

    work.finished("cpu", lambda: done.append("step"))()
    work.finished("cuda:1", lambda: done.append("step"))()

    assert done == ["step", "step", torch.device("cuda", 1)]


def test_between_turns_a_gpu_has_its_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    freed: list[None] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: freed.append(None))

    there = work.finished("cuda", lambda: None)
    assert isinstance(there, Resting)
    there.rest()

    assert freed == [None]
    assert not isinstance(work.finished("cpu", lambda: None), Resting)


def test_a_gpu_gets_more_to_do_unless_told_otherwise(
    small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert default_task("big", "cpu").target_tokens == 128 * 16
    assert default_task("big", "cuda").target_tokens == 25_600
    assert work.SIZES["big"] == Size(6, 1024, 4096, 16)  # Table 3
    asked: list[Task] = []

    def measured(prepare: object, threads: int | None, task: Task, *arguments: str) -> None:
        asked.append(task)
        raise LookupError

    monkeypatch.setattr(training, "Contestant", measured)
    with pytest.raises(LookupError):
        compare_training("small", sentences=3)

    assert asked == [Task("small", "cpu", sentences=3, length=16)]


def test_other_names_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"There is no size 'tiney'\. Did you mean 'tiny'"):
        compare_training("tiney")
    with pytest.raises(ConfigError, match=r"There is no peer 'marion'\. Did you mean 'marian'"):
        compare_training("tiny", ["marion"])
    with pytest.raises(ConfigError, match="The device 'cudda' is not available here"):
        compare_training("tiny", device="cudda")


@pytest.mark.parametrize("imitated", [False, True])
def test_the_best_peer_counts_and_an_imitated_precision_is_not_measured(
    imitated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = {
        ("our_step", "float32", "compiled"): 1.0,
        ("matrix_product", "float32"): 0.5,
        ("peer_step", "marian", "float32"): 2.0,
        ("peer_step", "marian", "bfloat16"): 3.0,
        ("peer_step", "torch", "float32"): 5.0,
        ("peer_step", "torch", "bfloat16"): 4.0,
    }
    asked: list[str] = []
    waited: list[tuple[str, ...]] = []
    usual = default_task("tiny", "cpu")

    class Timed:
        def __init__(
            self, prepare: object, threads: int | None, task: Task, *arguments: str | bool
        ) -> None:
            assert task == usual
            words = ("compiled" if argument is True else str(argument) for argument in arguments)
            self.name = (getattr(prepare, "__name__", ""), *words)

        def seconds(self) -> float:
            assert len(waited) == (4 if imitated else 6)
            asked.append(" ".join(self.name))
            return times[self.name]

        def wait(self) -> None:
            waited.append(self.name)

        def close(self) -> None:
            waited.remove(self.name)

    monkeypatch.setattr(training, "Contestant", Timed)
    monkeypatch.setattr(training, "choose_precision", lambda wanted, device: "float32")
    products = {"float32": 1.0, "bfloat16": 3.5 if imitated else 0.5}
    monkeypatch.setattr(training, "product_seconds", lambda: products)

    found = compare_training("tiny", ["marian", "torch"], rounds=2, compiled=True)

    assert not waited  # all are closed
    assert found.compiled
    assert asked.count("our_step float32 compiled") == 2
    assert asked.count("peer_step torch bfloat16") == (0 if imitated else 2)
    assert found.tokens_per_second == 128 * 16
    assert found.peers["marian"]["float32"] == 1024
    assert found.peers["torch"].get("bfloat16") == (None if imitated else 512)
    assert found.ratio == 2
    assert found.matrix_rate == work.product_operations(usual) / 0.5
    rate = work.training_operations(usual) / found.matrix_rate
    assert found.matrix_rate_fraction == pytest.approx(rate)
    assert found.machine["processor"]
    assert (found.threads, found.rounds) == (torch.get_num_threads(), 2)
    assert found.machine["versions"]["torch"] == torch.__version__


def test_the_command_prints_one_line_of_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def compared(
        size: str, peers: list[str], rounds: int, threads: int | None, **options: object
    ) -> TrainingComparison:
        assert (size, peers, rounds, threads) == ("base", ["marian", "torch"], 3, 1)
        assert options == {"device": "cpu", "sentences": 9, "length": None, "compiled": True}
        task = Task(size, "cpu", 9, 16)
        peers_found, on = {"torch": {"float32": 150.0}}, {"processor": "one"}
        return TrainingComparison(
            task, "float32", True, 300.0, peers_found, 1e10, 0.5, on, 1, rounds
        )

    monkeypatch.setattr(training, "compare_training", compared)
    arguments = ["bench", "train", "--size", "base", "--against", "marian, torch", "--rounds", "3"]
    arguments += ["--threads", "1", "--sentences", "9", "--compile"]

    run(arguments)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "one, 1 thread each, median of 3 rounds"
    assert "2.00 times the fastest peer" in lines
    run([*arguments, "--json"])
    assert json.loads(capsys.readouterr().out) == {
        "size": "base",
        "device": "cpu",
        "sentences": 9,
        "length": 16,
        "ours": {"tokens_per_second": 300.0, "precision": "float32", "compiled": True},
        "peers": {"torch": {"float32": 150.0}},
        "ratio": 2.0,
        "matrix_rate_fraction": 0.5,
        "machine": {"processor": "one"},
        "matrix_rate": 1e10,
        "threads": 1,
        "rounds": 3,
    }


def run(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 0
