"""The loss without all logits at once gives the numbers of section 5.4, on every path."""

import itertools
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from headway.errors import ConfigError
from headway.kernels import dispatch
from headway.training.accelerated import cross_entropy
from headway.training.accelerated.cross_entropy import losses_and_gradient, projected_cross_entropy
from headway.training.loss import LossSums, label_smoothed_cross_entropy

ROWS, WIDTH, PIECES = 11, 5, 7


def example(seed: int = 0, pad_id: int = 0) -> dict[str, Tensor]:
    rng = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, PIECES, (ROWS,), generator=rng)
    labels[0], labels[-1] = pad_id, (pad_id + 1) % PIECES
    return {
        "hidden": torch.randn(ROWS, WIDTH, generator=rng, dtype=torch.float64),
        "weight": torch.randn(PIECES, WIDTH, generator=rng, dtype=torch.float64),
        "bias": torch.randn(PIECES, generator=rng, dtype=torch.float64),
        "labels": labels,
    }


def both_ways(
    values: dict[str, Tensor], *, bias: bool, smoothing: float, pad_id: int, chunk: int
) -> tuple[list[Tensor], list[Tensor]]:
    """Return loss, nll and all gradients, from all logits at once and in chunks."""
    results = []
    for projected in (False, True):
        inputs = {name: values[name].clone().requires_grad_() for name in ("hidden", "weight")}
        if bias:
            inputs["bias"] = values["bias"].clone().requires_grad_()
        if projected:
            sums = projected_cross_entropy(
                inputs["hidden"],
                inputs["weight"],
                inputs.get("bias"),
                values["labels"],
                smoothing,
                pad_id,
                chunk,
            )
        else:
            logits = F.linear(inputs["hidden"], inputs["weight"], inputs.get("bias"))
            sums = label_smoothed_cross_entropy(logits, values["labels"], smoothing, pad_id)
        (sums.loss / 3).backward()
        gradients = [tensor.grad for tensor in inputs.values() if tensor.grad is not None]
        assert len(gradients) == len(inputs)
        results.append([sums.loss.detach(), sums.nll.detach(), *gradients])
    return results[0], results[1]


@given(
    seed=st.integers(0, 10_000),
    bias=st.booleans(),
    smoothing=st.floats(0, 0.9),
    pad_id=st.integers(0, PIECES - 1),
    chunk=st.integers(1, ROWS + 2),
)
def test_the_projected_loss_and_its_gradients_are_the_plain_ones(
    seed: int, bias: bool, smoothing: float, pad_id: int, chunk: int
) -> None:
    plain, projected = both_ways(
        example(seed, pad_id), bias=bias, smoothing=smoothing, pad_id=pad_id, chunk=chunk
    )

    for expected, given_ in zip(plain, projected, strict=True):
        torch.testing.assert_close(given_, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("device", "vocabulary", "rows"),
    [("cpu", 8_000, 512), ("cuda", 8_000, 8_388), ("cuda", 37_000, 1_813), ("mps", 2**20, 512)],
)
def test_a_gpu_has_as_many_logits_at_a_time_as_fit_into_256_mb(
    device: str, vocabulary: int, rows: int
) -> None:
    assert dispatch.loss_rows(torch.device(device), vocabulary) == rows


def test_chunks_are_those_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    compute = cross_entropy.losses_and_gradient
    monkeypatch.setattr(dispatch, "loss_rows", lambda device, vocabulary: 4)

    def counted(logits: Tensor, *arguments: object) -> object:
        counts.append(len(logits))
        return compute(logits, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(cross_entropy, "losses_and_gradient", counted)
    values = example()
    labels = torch.ones_like(values["labels"])

    projected_cross_entropy(values["hidden"], values["weight"], None, labels)

    assert counts == [4, 4, 3]


@pytest.mark.parametrize("pad_id", [0, 3])
def test_rows_of_padding_have_no_loss_and_no_gradient(pad_id: int) -> None:
    # On a GPU they are not taken out before.
    values = example(pad_id=pad_id)
    labels = values["labels"]
    assert 1 <= int((labels == pad_id).sum()) < ROWS
    logits = (values["hidden"] @ values["weight"].T).requires_grad_()
    exact = label_smoothed_cross_entropy(logits, labels, 0.1, pad_id)
    (expected,) = torch.autograd.grad(exact.loss, logits)
    grad_bias = torch.ones(PIECES, dtype=torch.float64)

    sums, grad = losses_and_gradient(logits.detach(), labels, 0.1, pad_id, grad_bias, True)

    torch.testing.assert_close(sums, exact)
    assert grad is not None
    torch.testing.assert_close(grad, expected)
    assert not grad[labels == pad_id].any()
    torch.testing.assert_close(grad_bias, 1 + expected.sum(0))


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])
def test_the_gradient_is_the_slope(bias: bool) -> None:
    values = example()
    inputs = [values["hidden"], values["weight"]] + ([values["bias"]] if bias else [])

    def value(hidden: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return projected_cross_entropy(hidden, weight, bias, values["labels"], 0.1, 0, 4).loss

    assert torch.autograd.gradcheck(value, [tensor.requires_grad_() for tensor in inputs])


@pytest.mark.parametrize("power", [1, 2])
def test_a_second_derivative_is_refused_rather_than_wrong(power: int) -> None:
    values = example()
    hidden = values["hidden"].requires_grad_()
    total = projected_cross_entropy(hidden, values["weight"], None, values["labels"]).loss
    (gradient,) = torch.autograd.grad(total**power, hidden, create_graph=True)

    with pytest.raises(ConfigError, match="A second derivative was requested"):
        gradient.sum().backward()


def test_every_row_has_a_label() -> None:
    values = example()
    for labels in (values["labels"][:-1], values["labels"][:, None]):
        with pytest.raises(ConfigError, match="rows, but labels of shape"):
            projected_cross_entropy(values["hidden"], values["weight"], None, labels)
        with pytest.raises(ConfigError, match="rows, but labels of shape"):
            label_smoothed_cross_entropy(values["hidden"] @ values["weight"].T, labels)


def test_without_gradients_the_value_is_the_same_and_none_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = example()
    arguments = (values["hidden"], values["weight"].requires_grad_(), None, values["labels"])

    with torch.no_grad(), monkeypatch.context() as patched:
        patched.delattr("headway.training.accelerated.cross_entropy.add_weight_gradient")
        without = projected_cross_entropy(*arguments)

    assert torch.equal(without.loss, projected_cross_entropy(*arguments).loss.detach())
    assert not without.loss.requires_grad


def test_a_table_shared_with_the_input_gets_both_gradients() -> None:
    values = example()
    shared = values["weight"].clone().requires_grad_()
    ids = torch.tensor([1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5])

    projected_cross_entropy(shared[ids], shared, None, values["labels"], 0.1, 0, 4).loss.backward()
    got, shared.grad = shared.grad, None
    logits = shared[ids] @ shared.T
    label_smoothed_cross_entropy(logits, values["labels"], 0.1, 0).loss.backward()

    assert got is not None
    torch.testing.assert_close(got, shared.grad, rtol=1e-12, atol=1e-12)


def test_in_bfloat16_it_stays_within_a_hundredth() -> None:
    rng = torch.Generator().manual_seed(1)
    hidden = torch.randn(150, 16, generator=rng).requires_grad_()
    weight = (torch.randn(40, 16, generator=rng) / 4).requires_grad_()
    labels = torch.randint(0, 40, (150,), generator=rng)

    def run(*, lowered: bool) -> tuple[LossSums, Tensor, Tensor]:
        hidden.grad = weight.grad = None
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=lowered):
            sums = projected_cross_entropy(hidden, weight, None, labels, 0.1, 0, 32)
        sums.loss.backward()
        assert hidden.grad is not None
        assert weight.grad is not None
        return sums, hidden.grad, weight.grad

    exact, exact_hidden, exact_weight = run(lowered=False)
    low, low_hidden, low_weight = run(lowered=True)

    # bfloat16 has 8 bits: each product is off by 2^-9 of its size, and errors partly cancel.
    assert float(low.nll) == pytest.approx(float(exact.nll), rel=3e-3)
    assert (low_hidden - exact_hidden).norm() < 0.01 * exact_hidden.norm()
    assert (low_weight - exact_weight).norm() < 0.01 * exact_weight.norm()
    assert low_hidden.dtype == low_weight.dtype == torch.float32
    assert not torch.equal(low_weight, exact_weight)


def wide_example(pieces: int, dtype: torch.dtype) -> dict[str, Tensor]:
    rng = torch.Generator().manual_seed(3)
    return {
        "hidden": torch.randn(23, WIDTH, generator=rng).to(dtype),
        "weight": torch.randn(pieces, WIDTH, generator=rng).to(dtype),
        "bias": torch.randn(pieces, generator=rng).to(dtype),
        "labels": torch.randint(0, pieces, (23,), generator=rng),
    }


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("pad_id", [0, 15])
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])
@pytest.mark.parametrize("pieces", [16, 17, 47, 96])
def test_loops_give_the_plain_loss_and_its_gradients(
    pieces: int, bias: bool, pad_id: int, threads: int
) -> None:
    pytest.importorskip("numba")
    values, before = wide_example(pieces, torch.float32), torch.get_num_threads()
    exact = {name: x.double() if x.is_floating_point() else x for name, x in values.items()}
    torch.set_num_threads(threads)
    try:
        _, found = both_ways(values, bias=bias, smoothing=0.1, pad_id=pad_id, chunk=10)
    finally:
        torch.set_num_threads(before)

    expected, _ = both_ways(exact, bias=bias, smoothing=0.1, pad_id=pad_id, chunk=10)
    for number, exact_number in zip(found, expected, strict=True):
        torch.testing.assert_close(number.double(), exact_number, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found[:2], expected[:2], rtol=1e-6, atol=0)


def test_each_part_has_sums_of_its_own() -> None:
    losses = pytest.importorskip("headway.kernels.cross_entropy")
    values = wide_example(37, torch.float32)
    logits, labels = values["hidden"] @ values["weight"].T, values["labels"]
    labels[2] = 0
    grads, each = torch.zeros(4, 37), torch.empty(len(labels), 2, dtype=torch.float64)
    given = [x.numpy() for x in (logits, labels)], [x.numpy() for x in (each, grads)]

    losses.smoothed_losses(*given[0], 0.1, 0, True, *given[1], len(labels), 3, 0)

    bounds = [len(labels) * part // 3 for part in range(4)]  # logits are their gradient now
    for part, (first, last) in enumerate(itertools.pairwise(bounds)):
        torch.testing.assert_close(grads[part], logits[first:last].sum(0), rtol=1e-5, atol=1e-6)
    assert not grads[3].any()
    assert not each[labels == 0].any()
    assert not logits[labels == 0].any()
    assert each[labels != 0].all()


@pytest.mark.parametrize("pieces", [16, 37])
def test_loops_round_the_gradient_by_logits_as_plain_operations_do(
    pieces: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    values = wide_example(pieces, torch.bfloat16)

    def run() -> list[Tensor]:
        bias = values["bias"].clone().requires_grad_()
        hidden = values["hidden"].clone().requires_grad_()
        sums = projected_cross_entropy(hidden, values["weight"], bias, values["labels"], 0.2)
        sums.loss.backward()
        assert bias.grad is not None
        assert hidden.grad is not None
        return [sums.loss.detach(), sums.nll, bias.grad, hidden.grad]

    found = run()
    monkeypatch.setattr("headway.kernels.dispatch.has_numba", lambda: False)
    for number, plain in zip(found, run(), strict=True):
        # A gradient may lie on the other side of where two numbers of 8 bits meet.
        tolerance = 1e-6 if number.dtype == torch.float64 else 2**-7
        torch.testing.assert_close(number, plain, rtol=tolerance, atol=tolerance)


def test_loops_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    calls, name = [], "_losses_and_gradient_by_kernel"
    loops = getattr(cross_entropy, name)
    monkeypatch.setattr(cross_entropy, name, lambda *all: calls.append(1) or loops(*all))

    for pieces in (15, 16):
        both_ways(
            wide_example(pieces, torch.float32), bias=False, smoothing=0.1, pad_id=0, chunk=12
        )
        assert len(calls) == (0 if pieces < 16 else 2)


def test_in_loops_the_value_is_the_same_without_gradients(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = wide_example(37, torch.float32)
    arguments = (values["hidden"], values["weight"].requires_grad_(), None, values["labels"])

    with torch.no_grad(), monkeypatch.context() as patched:
        patched.delattr("headway.training.accelerated.cross_entropy.add_weight_gradient")
        without = projected_cross_entropy(*arguments)

    assert torch.equal(without.loss, projected_cross_entropy(*arguments).loss.detach())


@pytest.mark.parametrize("label", [-1, 37])
def test_a_label_that_is_no_piece_is_refused(label: int) -> None:
    pytest.importorskip("numba")
    values = wide_example(37, torch.float32)
    values["labels"][4] = label

    with pytest.raises(ConfigError, match=f"label is {label}, but .* tokens 0 to 36"):
        projected_cross_entropy(values["hidden"], values["weight"], None, values["labels"])


@pytest.mark.parametrize("place", [0, 20, 36])
def test_a_logit_that_is_not_finite_shows(place: int) -> None:
    values = wide_example(37, torch.float32)
    values["weight"][place] = torch.nan

    sums = projected_cross_entropy(
        values["hidden"], values["weight"], None, torch.full((23,), 5), pad_id=3
    )

    assert sums.loss.isnan()
    assert sums.nll.isnan()


def test_a_batch_of_padding_alone_has_no_loss_and_no_gradient() -> None:
    given = example()
    given["labels"] = torch.zeros_like(given["labels"])
    for name in ("hidden", "weight", "bias"):
        given[name].requires_grad_()

    sums = projected_cross_entropy(**given)
    sums.loss.backward()

    assert float(sums.loss.detach()) == float(sums.nll) == 0.0
    for name in ("hidden", "weight", "bias"):
        gradient = given[name].grad
        assert gradient is not None
        assert not gradient.any()


@pytest.mark.parametrize("pad_id", [-100, -1, PIECES])
def test_padding_that_is_no_piece_is_one_sentence(pad_id: int) -> None:
    given = example()
    with pytest.raises(ConfigError, match=f"pad_id is {pad_id}, but must be .* 0 to {PIECES - 1}"):
        projected_cross_entropy(
            given["hidden"], given["weight"], None, given["labels"], 0.1, pad_id
        )
    with pytest.raises(ConfigError, match=f"pad_id is {pad_id}"):
        label_smoothed_cross_entropy(torch.zeros(3, PIECES), torch.tensor([1, 2, 3]), 0.1, pad_id)


def test_in_bfloat16_the_last_chunk_has_few_numbers_of_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    product, counts = torch.nn.functional.linear, set()

    def counted(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        counts.add(len(rows))
        return product(rows, weight, bias)

    rng = torch.Generator().manual_seed(1)
    weight = torch.randn(19, 8, generator=rng).requires_grad_()
    for rows in range(75, 290, 7):
        hidden = torch.randn(rows, 8, generator=rng).requires_grad_()
        labels = torch.randint(0, 19, (rows,), generator=rng)
        labels[rows // 2 :: 17] = 0
        found = []
        for precision in (torch.bfloat16, torch.float32):
            weight.grad = hidden.grad = None
            with (
                torch.autocast("cpu", torch.bfloat16, enabled=precision == torch.bfloat16),
                monkeypatch.context() as patched,
            ):
                if precision == torch.bfloat16:
                    patched.setattr(cross_entropy.F, "linear", counted)
                sums = projected_cross_entropy(hidden, weight, None, labels, 0.1, 0, 64)
            sums.loss.backward()
            assert hidden.grad is not None
            assert weight.grad is not None
            found.append([sums.loss.detach(), sums.nll, hidden.grad, weight.grad])
        for ours, exact in zip(*found, strict=True):
            # Each logit and gradient is rounded to 8 bits.
            size = float(exact.abs().amax())
            torch.testing.assert_close(ours, exact, rtol=2**-6, atol=2**-6 * size)
        assert not found[0][2][labels == 0].any()

    assert counts == {16, 32, 48, 64}


@pytest.mark.parametrize("chunk", [None, 10**6])
def test_few_rows_stay_few(chunk: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def compute(logits: Tensor, *others: Any) -> tuple[LossSums, Tensor | None]:
        seen.append(len(logits))
        return losses_and_gradient(logits, *others)

    monkeypatch.setattr("headway.kernels.dispatch.has_numba", lambda: False)
    hidden, weight = torch.randn(37, 8), torch.randn(19, 8)
    with torch.autocast("cpu", torch.bfloat16):
        projected_cross_entropy(
            hidden, weight, None, torch.arange(37) % 18 + 1, 0.1, 0, chunk, compute
        )

    assert seen == [48]
