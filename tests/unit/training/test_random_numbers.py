"""Random numbers are those of a training alone, whatever other threads draw."""

import copy
import random
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from headway.bundle import Bundle, Change
from headway.config.model import ModelConfig
from headway.config.run import RunConfig
from headway.errors import RunError
from headway.model.transformer import Transformer
from headway.training.accelerated import dropout
from headway.training.random_numbers import (
    RandomNumbers,
    fresh_weights,
    seed_random,
    training_here,
)
from headway.training.reporting import Reporter
from headway.training.run import train

MakeConfig = Callable[..., RunConfig]
CPU = torch.device("cpu")
DRAWS: dict[str, Callable[[], object]] = {
    "torch": lambda: torch.rand(3),
    "numpy": lambda: np.random.random(3),
    "python": random.random,
    "torch, seeded": lambda: torch.manual_seed(1),
}


def in_another_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def of_model(path: Path) -> bytes:
    return (path / "averaged" / "model.safetensors").read_bytes()


@pytest.mark.usefixtures("no_picture")
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_a_thread_that_draws_random_numbers_changes_no_training(
    make_config: MakeConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    draw: Callable[[], object],
) -> None:
    config = make_config(training={"max_steps": 3})
    train(config, tmp_path / "alone", reporter=Reporter(quiet=True))
    new_key, counts = dropout._new_key, [0]

    def disturbed() -> int:
        in_another_thread(draw)
        counts[0] += 1
        return new_key()

    monkeypatch.setattr(dropout, "_new_key", disturbed)
    train(config, tmp_path / "beside", reporter=Reporter(quiet=True))

    assert counts[0] > 0
    assert of_model(tmp_path / "beside") == of_model(tmp_path / "alone")


@pytest.mark.usefixtures("no_picture")
def test_two_trainings_at_once_come_to_what_each_comes_to_alone(
    make_config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(training={"max_steps": 3})
    train(config, tmp_path / "alone", reporter=Reporter(quiet=True))
    kernels = torch.backends.cuda.cudnn_sdp_enabled()
    together = threading.Barrier(2, timeout=60)
    new_key = dropout._new_key

    def in_turns() -> int:
        together.wait()  # so that neither draws twice without the other
        return new_key()

    monkeypatch.setattr(dropout, "_new_key", in_turns)

    def one(name: str) -> None:
        torch.set_num_threads(1)
        train(config, tmp_path / name, reporter=Reporter(quiet=True))

    threads = [threading.Thread(target=one, args=(name,)) for name in ("first", "second")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert of_model(tmp_path / "first") == of_model(tmp_path / "alone")
    assert of_model(tmp_path / "second") == of_model(tmp_path / "alone")
    assert torch.backends.cuda.cudnn_sdp_enabled() == kernels


@pytest.mark.usefixtures("no_picture")
def test_a_training_leaves_the_generators_of_others_as_they_were(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    def states() -> tuple[object, ...]:
        numpy_state = np.random.get_state(legacy=False)
        return torch.get_rng_state().tolist(), str(numpy_state), random.getstate()

    before = states()
    train(make_config(training={"max_steps": 2}), tmp_path / "run", reporter=Reporter(quiet=True))

    assert states() == before


def test_a_thread_that_draws_while_a_model_is_made_changes_no_weight(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = drawn_weights(bundle.config)
    linear = nn.Linear.reset_parameters

    def disturbed(layer: nn.Linear) -> None:
        in_another_thread(lambda: torch.rand(3))
        linear(layer)

    monkeypatch.setattr(nn.Linear, "reset_parameters", disturbed)

    assert all(map(torch.equal, drawn_weights(bundle.config), alone))


def drawn_weights(config: ModelConfig) -> list[torch.Tensor]:
    with fresh_weights(5):
        return list(Transformer.from_config(config).parameters())


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_numbers_are_those_that_the_default_generator_gives(bundle: Bundle, positions: str) -> None:
    """Runs that were begun when it gave them go on bit for bit."""
    config = bundle.config.model_copy(update={"positions": positions})
    seed_random(CPU, 5)
    expected = list(Transformer.from_config(config).parameters())
    assert all(map(torch.equal, drawn_weights(config), expected))

    x = torch.ones(7, 11)
    seed_random(CPU, 1, 2, 3)
    masks = [dropout.dropout(x, 0.3, training=True) for _ in range(2)]
    numbers = RandomNumbers(bundle.model, CPU, compiled=False)
    with numbers.of(1, 2, 3):
        found = [dropout.dropout(x, 0.3, training=True) for _ in range(2)]
    assert not torch.equal(*masks)
    assert all(map(torch.equal, found, masks))


def noisy(model: Transformer) -> None:
    model.encoder.add_module("noise", nn.Dropout(0.5))


def hooked(model: Transformer) -> None:
    model.encoder.register_forward_hook(lambda *_: None)


@pytest.mark.parametrize("change", [noisy, hooked])
def test_parts_of_a_users_own_draw_from_seeded_generators(
    model: Transformer, change: Change
) -> None:
    change(model)
    numbers = RandomNumbers(model, CPU, compiled=False)

    def draws(*of: int) -> list[float]:
        with numbers.of(*of):
            return [torch.rand(1).item(), random.random(), np.random.random()]

    first, others = draws(3, 7), draws(7, 3)

    assert numbers.shared
    assert draws(3, 7) == first
    assert all(one != other for one, other in zip(first, others, strict=True))


def test_only_a_gpu_a_compiler_or_other_parts_share_generators(model: Transformer) -> None:
    assert not RandomNumbers(model, CPU, compiled=False).shared
    assert RandomNumbers(model, CPU, compiled=True).shared
    assert RandomNumbers(copy.deepcopy(model), torch.device("cuda"), compiled=False).shared


@pytest.mark.parametrize("other_shares", [True, False])
def test_a_second_training_that_would_share_them_is_refused(
    make_config: MakeConfig, tmp_path: Path, *, other_shares: bool
) -> None:
    change = None if other_shares else hooked
    with (
        training_here(shared=other_shares),
        pytest.raises(RunError, match=r"Another training runs in this process.*change= use those"),
    ):
        train(make_config(), tmp_path / "run", change=change, reporter=Reporter(quiet=True))
    assert not (tmp_path / "run").exists()

    with training_here(shared=True):  # what was refused is not counted
        pass


def test_trainings_with_their_own_numbers_are_as_many_as_wanted() -> None:
    with training_here(shared=False), training_here(shared=False):
        pass
    with training_here(shared=True):
        pass
