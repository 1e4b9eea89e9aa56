"""Products of two threads equal those of one in all bits, whatever the second thread does."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
import torch

from headway.config.model import ModelConfig
from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import build_batch
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.run_search import run_search
from headway.kernels import two_cores
from headway.kernels.codegen.numba_compiler import has_amx
from headway.kernels.codegen.shared_words import load, replace
from headway.kernels.codegen.tasks import do_part
from headway.kernels.dispatch import Precision
from headway.kernels.float_linear import in_float_blocks, in_pair_blocks
from headway.kernels.linear import product_with
from headway.kernels.quantized_linear import in_byte_blocks
from headway.model.transformer import Transformer

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or has_amx(), reason="Products are not divided here."
)
_kept: list[Any] = []  # threads never end, so their memory stays
OUTPUTS, INPUTS = 900, 290  # more than _WORTH_DIVIDING in each kind, and no whole blocks


def bytes_of(weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    steps = np.linspace(0.01, 0.02, len(weight), dtype=np.float32)
    return in_byte_blocks(np.rint(weight * 40).clip(-63, 63).astype(np.int8), steps, bias)


KINDS = {"float32": in_float_blocks, "bfloat16": in_pair_blocks, "int8": bytes_of}


class Product:
    """A product of random rows and weights of one kind, and its result by one thread."""

    def __init__(self, kind: str, rows: int) -> None:
        random = np.random.default_rng(rows)
        weight = random.standard_normal((OUTPUTS, INPUTS)).astype(np.float32)
        self.weight = KINDS[kind](weight, random.standard_normal(OUTPUTS).astype(np.float32))
        self.x = random.standard_normal((rows, INPUTS)).astype(np.float32)
        self.expected = self.multiplied(0)

    def multiplied(self, helper: int) -> np.ndarray:
        y = np.full((len(self.x), OUTPUTS), np.nan, np.float32)
        product_with(self.weight)(self.x, self.weight, False, y, helper)
        return y


@pytest.fixture
def words() -> np.ndarray:
    """The memory of a helper that nothing runs."""
    room = np.zeros(two_cores._END + 8, np.int64)
    words = room[-room.ctypes.data // 8 % 8 :][: two_cores._END]
    words[two_cores._DIVIDE] = two_cores._form_of_divide().address
    for place, kind in enumerate(two_cores._KINDS):
        words[two_cores._MULTIPLY + place] = two_cores._address_of_multiply(kind)
    return words


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """PyTorch and the system have two cores, and no helper has been late."""
    monkeypatch.setattr(two_cores, "num_cores", lambda: 2)
    torch.set_num_threads(2)
    if (helper := two_cores._helper(os.getpid())) is not None:
        helper.to_skip = helper.last_skipped = 0
        _kept.append(helper)
    yield
    torch.set_num_threads(1)


@pytest.fixture
def helped_words(words: np.ndarray) -> Iterator[np.ndarray]:
    """The memory of a helper that runs in a thread of Python, with the usual priority."""
    over = threading.Event()

    def keep_helping() -> None:
        while not over.is_set():  # it also ends if it has no core for a while
            two_cores.help_with_products(words.ctypes.data)

    thread = threading.Thread(target=keep_helping, daemon=True)
    thread.start()
    yield words
    over.set()
    words[two_cores._STOP] = 1
    thread.join()


def has_helped(words: np.ndarray) -> bool:
    """Return True if the helper did a part of the last product; a late one may help again."""
    late = bool(words[two_cores._LATE])
    if late:
        words[two_cores._SLEEPS] = 0
        while not words[two_cores._SLEEPS]:  # until it has nothing claimed
            time.sleep(0)
        words[two_cores._LATE] = 0
    return bool(words[two_cores._DONE]) and not late


@pytest.mark.parametrize("rows", [1, 3, 7, 14])
@pytest.mark.parametrize("kind", KINDS)
def test_results_are_equal_with_a_helper(kind: str, rows: int, helped_words: np.ndarray) -> None:
    product = Product(kind, rows)
    helped = 0
    for _ in range(50_000):  # other programs may take its core
        assert np.array_equal(product.multiplied(helped_words.ctypes.data), product.expected)
        helped += has_helped(helped_words)
        if helped == 5:
            return
    pytest.fail("the helper did nothing")


@numba.njit(nogil=True)
def claim(helper):
    """Claim the last block of a product, return its number, and do nothing."""
    while True:
        left = load(helper, two_cores._LEFT)
        last = left & two_cores._LOW
        if left >> 32 == last:
            if load(helper, two_cores._STOP) != 0:
                return -1
        elif replace(helper, two_cores._LEFT, left, left - 1):
            return last - 1


def claimed(product: Product, words: np.ndarray) -> tuple[int, np.ndarray]:
    """Multiply until another thread has claimed a block; return its number and the result."""
    blocks: list[int] = []
    thread = threading.Thread(target=lambda: blocks.append(claim(words.ctypes.data)), daemon=True)
    thread.start()
    y = product.expected
    while not words[two_cores._LATE]:
        y = product.multiplied(words.ctypes.data)
    words[two_cores._STOP] = 1
    thread.join()
    return blocks[0], y


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_that_a_late_helper_keeps_are_multiplied_again(kind: str, words: np.ndarray) -> None:
    product = Product(kind, 3)

    block, y = claimed(product, words)

    assert block >= 0
    assert words[two_cores._LATE] == 1
    assert np.array_equal(y, product.expected)
    left = words[two_cores._LEFT]
    assert np.array_equal(product.multiplied(words.ctypes.data), product.expected)
    assert words[two_cores._LEFT] == left, "a late helper gets no more products"


@numba.njit
def do_late(helper, block):
    code, arguments = load(helper, two_cores._TASK), helper + 8 * two_cores._ARGUMENTS
    return do_part(code, arguments, block, block + 1)


def test_a_late_helper_changes_nothing_when_it_finishes(words: np.ndarray) -> None:
    product = Product("int8", 3)
    block, y = claimed(product, words)
    product.x[:] = np.nan  # memory that another product uses by now

    assert do_late(words.ctypes.data, block)

    assert np.array_equal(y, product.expected)
    outputs = words[two_cores._Y :].view(np.float32)[: y.size].reshape(y.shape)
    first = block * two_cores.OUTPUTS
    assert np.array_equal(outputs[:, first:], product.expected[:, first:])


@numba.njit
def is_worth_dividing(weight, x, y):
    return two_cores._is_worth_dividing(weight, x, y)


SHAPES = (64, 40, two_cores.OUTPUTS), (4, 100), (4, 64)


@pytest.mark.parametrize(
    ("place", "fits", "does_not"),
    [
        (0, (8, 64, 64), (8, 63, 64)),
        (1, (two_cores._MOST_ROWS, 2), (two_cores._MOST_ROWS + 1, 2)),
        (1, (2, two_cores._Y - two_cores._X), (2, two_cores._Y - two_cores._X + 1)),
        (2, (2, two_cores._END - two_cores._Y), (2, two_cores._END - two_cores._Y + 1)),
    ],
)
def test_products_are_divided_if_they_are_large_and_fit(
    place: int, fits: tuple[int, ...], does_not: tuple[int, ...]
) -> None:
    for shape, expected in ((fits, True), (does_not, False)):
        shapes = [shape if place == i else usual for i, usual in enumerate(SHAPES)]
        assert is_worth_dividing(*shapes) is expected


def test_small_products_are_not_divided(words: np.ndarray) -> None:
    small = np.ones((2, 8), np.float32)
    weight = in_float_blocks(np.ones((100, 8), np.float32), np.zeros(100, np.float32))
    y = np.zeros((2, 100), np.float32)
    product_with(weight)(small, weight, False, y, words.ctypes.data)

    assert (y == 8).all()
    assert not words[two_cores._LEFT]


LARGE = two_cores.Products([np.zeros(two_cores._WORTH_HELP // 4, np.float32)])


def helped(products: two_cores.Products = LARGE, threads: int = 2) -> bool:
    with two_cores.second_core(products, threads) as helper:
        return helper != 0


@pytest.mark.usefixtures("two_threads")
def test_help_is_for_large_weights_and_one_thread_at_a_time(monkeypatch: Any) -> None:
    wait_for_sleep()
    with two_cores.second_core(LARGE, 2) as helper:
        assert helper != 0
        assert not helped()  # it helps already
    wait_for_sleep()
    assert not helped(two_cores.Products([LARGE.weights[0][1:]]))
    monkeypatch.setattr(two_cores, "num_cores", lambda: 1)
    assert not helped()
    monkeypatch.setattr(two_cores, "num_cores", lambda: 2)
    assert not helped(threads=1)


def wait_for_sleep() -> None:
    helper = two_cores._helper(os.getpid())
    assert helper is not None
    while not helper.words[two_cores._SLEEPS]:
        ctypes.CDLL(None).sched_yield()


@pytest.mark.usefixtures("two_threads")
def test_a_helper_that_was_late_rests_twice_as_long_each_time() -> None:
    helper = two_cores._helper(os.getpid())
    assert helper is not None
    pauses = []
    for late in (1, 1, 1, 0, 0, 0):
        rest = 0
        wait_for_sleep()
        while not helped_once(helper, late):
            rest += 1
        pauses.append(rest)

    assert pauses == [0, 1, 3, 7, 3, 1]


def helped_once(helper: Any, late: int) -> bool:
    with two_cores.second_core(LARGE, 2) as address:
        if address:
            helper.words[two_cores._LATE] = late
        return address != 0


@pytest.mark.usefixtures("two_threads")
def test_weights_are_kept_alive_only_while_they_may_be_read() -> None:
    helper = two_cores._helper(os.getpid())
    wait_for_sleep()
    assert helper is not None
    with two_cores.second_core(LARGE, 2):
        assert helper.products is LARGE
    assert helper.products is None
    wait_for_sleep()
    with pytest.raises(MemoryError), two_cores.second_core(LARGE, 2):
        raise MemoryError
    assert helper.products is LARGE, "it may still multiply"


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


PROGRAM = """
import os
import numpy as np
from headway.kernels import two_cores
two_cores.num_cores = lambda: 2
products = two_cores.Products([np.zeros(two_cores._WORTH_HELP // 4, np.float32)])
def helped():
    with two_cores.second_core(products, 2) as helper:
        return helper != 0
assert helped()
"""  # the first time, it sleeps


def test_a_forked_process_starts_a_helper_of_its_own() -> None:
    child = "if child == 0: os._exit(0 if helped() else 1)"
    wait = "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    ended = run_python(PROGRAM + "child = os.fork()\n" + f"{child}\n{wait}")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_thread_of_the_system_helps() -> None:
    multiply = """
from headway.kernels.float_linear import in_float_blocks
from headway.kernels.linear import product_with
os.nice(19)  # both threads have the same share of a core beside other programs
weight = np.random.default_rng(0).standard_normal((900, 290)).astype(np.float32)
blocks = in_float_blocks(weight, np.zeros(900, np.float32))
products.weights, products.kinds = [blocks], [("float32", "float32")]
x, y, expected = weight[:2], np.zeros((2, 900), np.float32), np.zeros((2, 900), np.float32)
product_with(blocks)(x, blocks, False, expected, 0)
helper = two_cores._helper(os.getpid())
while True:
    with two_cores.second_core(products, 2) as address:
        for _ in range(100):
            product_with(blocks)(x, blocks, False, y, address)
            assert np.array_equal(y, expected)
        if address and helper.words[two_cores._DONE] and not helper.words[two_cores._LATE]:
            break
"""
    ended = run_python(PROGRAM + multiply)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_process_ends_well_while_its_helper_is_awake() -> None:
    awake = (
        PROGRAM
        + """
helper = two_cores._helper(os.getpid())
while not helper.words[two_cores._SLEEPS]:
    pass
assert helper.wake(products)
"""
    )
    for _ in range(3):
        ended = run_python(awake)
        assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.usefixtures("two_threads")
def test_signals_are_for_other_threads() -> None:
    before = set(Path("/proc/self/task").iterdir())
    _kept.append(two_cores._Helper())
    (thread,) = set(Path("/proc/self/task").iterdir()) - before
    blocked = (thread / "status").read_text("utf-8").partition("SigBlk:")[2].split()[0]

    assert int(blocked, 16) >> (signal.SIGINT - 1) & 1
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.usefixtures("two_threads")
def test_there_is_no_help_if_the_system_starts_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError("the system starts no more threads")

    monkeypatch.setattr(two_cores, "_Helper", refuse)
    monkeypatch.setattr(two_cores, "_helper", two_cores._helper.__wrapped__)
    assert not helped()


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("beam_size", [1, 3])
def test_searches_find_the_same_with_a_helper(
    precision: Precision, beam_size: int, helped_words: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(beam_size)
    model = Transformer.from_config(
        ModelConfig(
            d_model=256, num_heads=4, d_ff=300, num_encoder_layers=1, num_decoder_layers=2,
            source_vocab_size=700, target_vocab_size=700,
        )
    ).eval()  # fmt: skip
    monkeypatch.setattr(two_cores, "_WORTH_HELP", 0)
    batch = build_batch(build_engine(model, "packed", precision), SearchOptions(beam_size), 1)
    requests = [(n, Request([*range(4 + n, 11 + n), 3], 9)) for n in range(6)]

    def found() -> list[tuple[int, list[Hypothesis]]]:
        return list(run_search(batch, requests, slots=1))

    alone = found()
    address = helped_words.ctypes.data
    monkeypatch.setattr(two_cores, "second_core", lambda *_: contextlib.nullcontext(address))
    for _ in range(1_000):  # other programs may take its core
        assert found() == alone
        if has_helped(helped_words):
            return
    pytest.fail("the helper did nothing")
