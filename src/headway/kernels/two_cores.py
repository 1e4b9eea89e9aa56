"""Products of one sentence on two cores: a second thread multiplies some blocks of each product.

A step of one sentence reads all weights for a few rows, and two cores read twice as fast as one. A
product takes microseconds, too few to wake a thread for. So the second thread, the helper, is awake
as long as a sentence is encoded or decoded. It polls a word in memory (`_LEFT`), in which both
threads claim blocks of the current product: the first thread from the first block on, the helper
from the last one.

The first thread does not depend on the helper, which gets a copy of the rows, and writes to its own
memory. If the helper has claimed blocks and does not finish in time, because another program took
its core, the first thread multiplies them itself, and some of the next sentences have no helper.
The helper has the lowest priority, so that it rarely takes a core from another thread. It never
enters Python, so it cannot lose its core while it holds the GIL, for which other threads would
wait.

Each block is multiplied by the same machine code in either thread: results are equal in all bits.
"""

import contextlib
import functools
import os
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from headway.kernels.arrays import Floats, Words
from headway.kernels.codegen.addresses import array_at, copy_to
from headway.kernels.codegen.calls import Form, call_at, form
from headway.kernels.codegen.numba_compiler import compiled, has_amx, inlined
from headway.kernels.codegen.shared_words import load, replace, store
from headway.kernels.codegen.tasks import code_of_thread, do_part, write_task
from headway.kernels.codegen.vectors import (
    WORD,
    Code,
    FlatArray,
    Value,
    generated,
    numbers_of_a_word,
)
from headway.kernels.linear_blocks import OUTPUTS, multiply_blocks
from headway.runtime import native_thread
from headway.runtime.processor import num_cores, quota

# The helper's memory, in words of 64 bits; its semaphore comes first. Words that one thread writes
# while the other one polls them have their own cache line, of eight words.
_LEFT = 8
"""The first and the last + 1 of the product's blocks that are not claimed, 32 bits each."""
_DONE, _SLEEPS = 16, 17
"""Blocks that the helper has done; 1 if it sleeps."""
_LATE, _STOP, _DIVIDE = 24, 25, 26
"""1 if the helper was late; 1 to send it to sleep; the address of `divide`."""
_MULTIPLY = 27
"""The addresses of `multiply_blocks` for _KINDS; 0 for a kind that is not divided."""
_TASK = 32
"""The task of the product, from `write_task`: the address of code that multiplies blocks."""
_ARGUMENTS, _STEPS, _ZEROS, _X, _Y, _END = 33, 128, 1024, 2048, 2**17, 2**19
"""Where the arguments of the product begin, then its arrays, and the end of all."""
_MOST_ROWS = _ZEROS - _STEPS
_LOW = 2**32 - 1

Kind = tuple[str, str]
"""The types of a product's weights and results."""
_KINDS: tuple[Kind, ...] = (
    ("float32", "float32"), ("uint32", "float32"), ("uint32", "uint32"), ("int32", "float32"),
)  # fmt: skip

_WORTH_DIVIDING = 2**15
"""Words in the weights of a product; to divide fewer takes as long as to read them."""
_WORTH_HELP = 2**23
"""Bytes of all weights; to wake a thread takes some dozen microseconds."""
_IDLE = 5_000_000
"""Looks at _LEFT without a product, about 2 milliseconds, after which the helper sleeps."""
_PATIENCE, _PATIENCE_A_ROW = 800_000, 50_000
"""Looks at _DONE, about 0.3 milliseconds, after which the helper is late. On a virtual machine, a
thread has no core for 0.03 milliseconds some dozen times a second."""
_LOOKS_BEFORE = 200
"""Looks at _SLEEPS, some dozen microseconds, before a search gets no help."""
_MOST_SKIPPED = 128
"""Most searches in a row without a helper, after it was late again and again."""


@inlined
def multiply(
    x: Any, weight: Any, row_steps: Any, zeros: Any, relu: Any, y: Any, helper: Any
) -> None:
    """Compute the whole product of `multiply_blocks`.

    helper: the address that `second_core` yields; 0 without a helper.
    """
    code = load(helper, _MULTIPLY + kind_of(weight, y)) if helper else 0
    if code == 0:
        multiply_blocks(x, weight, row_steps, zeros, relu, y, 0, weight.shape[0])
    else:
        others = code, OUTPUTS // numbers_of_a_word(y), helper
        call_at(load(helper, _DIVIDE), (x, weight, row_steps, zeros, relu, y, *others))


@generated(types.intp)
def kind_of(code: Code, weight: FlatArray, y: FlatArray) -> Value:
    """Return the place of a product's types in _KINDS."""
    return code.constant(_KINDS.index((str(weight.kind.dtype), str(y.kind.dtype))), WORD)


@compiled
def divide(
    x: Words,
    weight: Words,
    row_steps: Floats,
    zeros: NDArray[np.int32],
    relu: bool,
    y: Words,
    code: int,
    outputs: int,
    helper: int,
) -> None:
    """Multiply blocks until none is left, while the helper does the same.

    code: the address of `multiply_blocks` for words of any kind. outputs: the words of y that a
    block has. The helper multiplies copies of the rows, and writes to its own memory.
    """
    blocks = weight.shape[0]
    if load(helper, _LATE) != 0 or not _is_worth_dividing(weight.shape, x.shape, y.shape):
        call_at(code, (x, weight, row_steps, zeros, relu, y, 0, blocks))
        return
    steps_at, zeros_at = helper + 8 * _STEPS, helper + 8 * _ZEROS
    x_at, y_at = helper + 8 * _X, helper + 8 * _Y
    copy_to(x, x_at)
    copy_to(row_steps, steps_at)
    copy_to(zeros, zeros_at)
    steps, row_zeros = array_at(row_steps, steps_at), array_at(zeros, zeros_at)
    helpers_y = array_at(y, y_at)
    arguments = array_at(x, x_at), weight, steps, row_zeros, relu, helpers_y
    store(helper, _TASK, write_task(code, arguments, helper + 8 * _ARGUMENTS))
    store(helper, _DONE, 0)
    store(helper, _LEFT, blocks)
    while True:
        left = load(helper, _LEFT)
        first, last = left >> 32, left & _LOW
        if first == last:
            break
        count = _share(last - first)
        if replace(helper, _LEFT, left, left + (count << 32)):
            call_at(code, (x, weight, row_steps, zeros, relu, y, first, first + count))
    looks, patience = 0, _PATIENCE + x.shape[0] * _PATIENCE_A_ROW
    while load(helper, _DONE) < blocks - last and looks < patience:
        looks += 1
    if load(helper, _DONE) < blocks - last:
        store(helper, _LATE, 1)
        call_at(code, (x, weight, row_steps, zeros, relu, y, last, blocks))
    else:
        begin = last * outputs
        for i in range(y.shape[0]):
            copy_to(helpers_y[i, begin:], y.ctypes.data + 4 * (i * y.shape[1] + begin))


@inlined
def _is_worth_dividing(
    weight: tuple[int, int, int], x: tuple[int, int], y: tuple[int, int]
) -> bool:
    """Return True if a product of these shapes is large enough, and fits the helper's memory."""
    fits = x[0] <= _MOST_ROWS and x[0] * x[1] <= 2 * (_Y - _X) and y[0] * y[1] <= 2 * (_END - _Y)
    return fits and weight[0] * weight[1] * OUTPUTS >= _WORTH_DIVIDING


@inlined
def _share(count: int) -> int:
    """Return the number of blocks to claim if this many are left.

    It is a third, so that both threads end at nearly the same time, and claim few times.
    """
    return max(count // 3, 1)


@compiled
def help_with_products(helper: int) -> None:
    """Multiply blocks of each product that the first thread writes, until that says to stop.

    The first thread waits for claimed blocks before it writes the next product, or gives the helper
    up. So the helper reads the product after its claim. Blocks for which memory is lacking are not
    reported as done, and the first thread multiplies them.
    """
    looks = 0
    while looks < _IDLE and load(helper, _STOP) == 0 and load(helper, _LATE) == 0:
        left = load(helper, _LEFT)
        first, last = left >> 32, left & _LOW
        if first == last:
            looks += 1
            continue
        looks = 0
        count = _share(last - first)
        if replace(helper, _LEFT, left, left - count):
            task, arguments = load(helper, _TASK), helper + 8 * _ARGUMENTS
            if do_part(task, arguments, last - count, last):
                store(helper, _DONE, load(helper, _DONE) + count)
    store(helper, _SLEEPS, 1)


@compiled
def code_of_helper() -> int:
    """Return the address of a helper's code, for `pthread_create`."""
    return code_of_thread(help_with_products)


class Products:
    """The weights of products that a thread may help with."""

    def __init__(self, weights: Iterable[Words]) -> None:
        """Keep weights of `linear_blocks.in_blocks`, which the products read."""
        self.weights = list(weights)
        types = {str(weight.dtype) for weight in self.weights}
        self.kinds = [kind for kind in _KINDS if kind[0] in types]
        size = sum(weight.nbytes for weight in self.weights)
        possible = native_thread.AVAILABLE and not has_amx() and quota() >= 2
        self.are_worth_help = size >= _WORTH_HELP and possible

    def kernels(self) -> list[Form]:
        """Return the kernels that help needs."""
        if not self.are_worth_help:
            return []
        return [form(code_of_helper), _form_of_divide(), *map(_form_of_multiply, self.kinds)]


def _form_of_multiply(kind: Kind) -> Form:
    """Return `multiply_blocks` for words of this kind."""
    words, results = (np.empty((1, 1), name) for name in kind)
    zeros, steps = np.empty(1, np.int32), np.empty(1, np.float32)
    return form(multiply_blocks, words, words[None], steps, zeros, False, results, 0, 0)


def _form_of_divide() -> Form:
    """Return `divide` for words of any kind, because these are of one size."""
    rows, zeros, steps = np.empty((1, 1), np.int32), np.empty(1, np.int32), np.empty(1, np.float32)
    return form(divide, rows, rows[None], steps, zeros, False, rows, 0, 0, 0)


class _Helper:
    """The thread that helps, which sleeps between sentences."""

    def __init__(self) -> None:
        """Start the thread. Raises OSError if the system refuses."""
        words = np.zeros(_END + 8, np.int64)
        # They begin with a cache line.
        self.words = words[-words.ctypes.data // words.itemsize % 8 :][:_END]
        self.words[_SLEEPS] = 1
        self.products: Products | None = None
        self.last_skipped = self.to_skip = 0
        self.divide = _form_of_divide().address
        self.address = self.words.ctypes.data
        self.thread = native_thread.NativeThread(code_of_helper(), self.address, self)

    def wake(self, products: Products) -> bool:
        """Let the thread help with these products; return False if it cannot help now."""
        if self.to_skip:
            self.to_skip -= 1
            return False
        looks = 0
        while not self.words[_SLEEPS]:  # it has had no core in which to go to sleep
            looks += 1
            if looks == _LOOKS_BEFORE:
                return False
        self.products = products
        self.words[_LEFT:_ARGUMENTS] = 0
        self.words[_DIVIDE] = self.divide
        for kind in products.kinds:
            self.words[_MULTIPLY + _KINDS.index(kind)] = _address_of_multiply(kind)
        self.thread.wake()
        return True

    def send_to_sleep(self) -> None:
        """Stop the thread; if it was late, it does not help with some of the next sentences."""
        self.words[_STOP] = 1
        late = bool(self.words[_LATE])
        self.last_skipped = (
            min(2 * self.last_skipped + 1, _MOST_SKIPPED) if late else self.last_skipped // 2
        )
        self.to_skip = self.last_skipped
        if not late:  # a late thread may still read the weights
            self.products = None


@functools.cache
def _address_of_multiply(kind: Kind) -> int:
    return _form_of_multiply(kind).address


_turn = threading.Lock()


@functools.cache
def _helper(process: int) -> _Helper | None:  # a forked process has none of the threads
    """Return the thread of this process; None if the system refuses it."""
    with contextlib.suppress(OSError):
        return _Helper()
    return None


@contextlib.contextmanager
def second_core(products: Products, threads: int) -> Iterator[int]:
    """Let a thread help with products; yield the address for `multiply`, 0 if none helps.

    threads: the number that the caller may use. No thread helps if that is one, if the weights are
    small, or if the helper works for another thread. Nor is there help on a processor with tiles,
    in a container with less than the time of two cores, and on other systems than Linux.
    """
    is_worth_help = products.are_worth_help and min(threads, num_cores()) > 1
    if not is_worth_help or not _turn.acquire(blocking=False):
        yield 0
        return
    try:
        helper = _helper(os.getpid())
        if helper is not None and helper.wake(products):
            try:
                yield helper.address
            except BaseException:
                helper.words[_LATE] = 1  # it may still multiply
                raise
            finally:
                helper.send_to_sleep()
        else:
            yield 0
    finally:
        _turn.release()
