"""The best of many logits.

A row is divided into groups and read twice. The first pass keeps the largest numbers of each group.
One of these maxima is chosen as a bound, which at least K of them reach, and few more. The second
pass sums e^logit. Then numbers that reach the bound are marked, in groups that have any. Only
these numbers are sorted.
"""

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from headway.kernels.arrays import Floats, Ints
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.vectors import (
    BIT,
    FLOAT,
    INT,
    INTS,
    LANES,
    SHORT,
    WORD,
    Code,
    FlatArray,
    Value,
    generated,
)

_BLOCK = 4 * LANES  # numbers at a time, a bit of a word for each
_LONG = 4  # blocks from which it pays to check first whether a group has any of the best numbers
_FEW = 24  # numbers up to which sorting by insertion is faster
_DIGITS, _RADIX = 4, 256  # the digits of a float's bits, and the values of one

_Words = NDArray[np.uint64]


@compiled
def sharpen(
    x: Floats, weight: Floats, bias: Floats, margin: np.float32, most: int, logits: Floats
) -> None:
    """Compute again the logits that are within `margin` of the best of their row.

    If there are more than `most`, the margin is halved until there are not. x: (R, d_model).
    weight: (V, d_model). logits: (R, V), computed from rounded weights.
    """
    size, d_model = logits.shape[1], x.shape[1]
    whole = d_model - d_model % LANES
    group = _group_of(size, 1)
    tail, maxima = np.empty(_BLOCK, np.float32), np.empty(_num_maxima(size, group), np.float32)
    marks, ids = np.empty(_blocks_of(size), np.uint64), np.empty(most, np.int64)
    for i in range(logits.shape[0]):
        _fill_tail(logits, i, tail)
        _find_maxima(logits, i, group, tail, maxima)
        best = _largest(maxima, maxima.size)
        near = margin
        count = _above(logits, i, best - near, tail, marks, ids)
        while count > ids.size:
            near = near * np.float32(0.5) if near > np.float32(0.01) else np.float32(0.0)
            count = _above(logits, i, best - near, tail, marks, ids)
        for k in range(count):
            v = ids[k]
            total = _dot(x, i * d_model, weight, v * d_model, whole) if whole else np.float32(0.0)
            for c in range(whole, d_model):
                total += x[i, c] * weight[v, c]
            logits[i, v] = total + bias[v]


@generated(types.float32)
def _dot(code: Code, x: FlatArray, i: Value, y: FlatArray, j: Value, length: Value) -> Value:
    """Sum the products of x[i:] and y[j:], `length` of each, a multiple of 16."""

    def add(index: Value, total: Value) -> Value:
        return total + x.load(i + index) * y.load(j + index)

    return code.sum(code.fold(length, LANES, code.constant(0.0), add))


@compiled
def _above(
    logits: Floats, i: int, limit: np.float32, tail: Floats, marks: _Words, ids: Ints
) -> int:
    """Write the ids of the logits above the limit until `ids` is full; return their number.

    If there are more, return a number above the size of `ids`. tail: that of the row.
    """
    size = logits.shape[1]
    whole = size - size % _BLOCK
    if whole:
        _mark_above(logits, i * size, whole, limit, marks, 0)
    if whole < size:
        _mark_above(tail, 0, _BLOCK, limit, marks, marks.size - 1)
    count = 0
    for block in range(marks.size):
        word = marks[block]
        while word:
            if count == ids.size:
                return count + 1
            ids[count] = _BLOCK * block + _lowest_bit(word)
            word &= word - np.uint64(1)
            count += 1
    return count


@compiled
def best_pieces(logits: Floats, never: Ints, values: Floats, ids: Ints, totals: Floats) -> None:
    """Find log(sum(exp(logits))) of each row and its best logits, best first.

    logits: (R, V). never: pieces that count in the sum and are then set to -inf, so that they are
    not among the best. values, ids: (R, K). totals: (R,); the order of additions depends on V
    alone. Of equal logits, the lower id comes first; NaN is never among the best. If a row has
    fewer than K numbers, the last places have -inf and 0.
    """
    size, count = logits.shape[1], values.shape[1]
    group = _group_of(size, count)
    tail, maxima = np.empty(_BLOCK, np.float32), np.empty(_num_maxima(size, group), np.float32)
    sums, marks = np.empty(_BLOCK, np.float32), np.empty(_blocks_of(size), np.uint64)
    excluded = np.empty(never.size, np.float32)
    room = size if count > _FEW else 0
    words, spare = np.empty(room, np.uint64), np.empty(room, np.uint64)
    places = np.empty((_DIGITS, _RADIX), np.int64)
    for i in range(logits.shape[0]):
        for j in range(never.size):
            excluded[j] = logits[i, never[j]]
            logits[i, never[j]] = np.float32(-np.inf)
        _fill_tail(logits, i, tail)
        _find_maxima(logits, i, group, tail, maxima)
        top, bound = _top_and_bound(maxima, count)
        for j in range(never.size - 1, -1, -1):  # backwards, because a piece may be there twice
            top = max(top, excluded[j])
            logits[i, never[j]] = excluded[j]
        _fill_tail(logits, i, tail)
        totals[i] = top + np.log(_sum_powers(logits, i, top, tail, sums))
        for piece in never:
            logits[i, piece] = np.float32(-np.inf)
        _fill_tail(logits, i, tail)
        _mark(logits, i, group, maxima, bound, tail, marks)
        if room:
            filled = _sort_marked(logits[i], marks, words, spare, places, values[i], ids[i])
        else:
            filled = _insert_marked(logits[i], marks, values[i], ids[i])
        for k in range(filled, count):
            values[i, k] = np.float32(-np.inf)
            ids[i, k] = 0


@compiled
def _blocks_of(size: int) -> int:
    """Return the number of blocks of a row; the last one may be padded."""
    return (size + _BLOCK - 1) // _BLOCK


@compiled
def _group_of(size: int, count: int) -> int:
    """Return the length of a group, which has LANES maxima, for rows of this size.

    Either there are four groups for each wanted number, and most groups have none of the best, or
    there are four maxima for each, and nearly all groups have some. In both cases the processor
    can predict the branch.
    """
    blocks = size // _BLOCK
    group = blocks // (4 * count)
    return _BLOCK * (group if group >= _LONG else max(blocks * LANES // (4 * count), 1))


@compiled
def _num_maxima(size: int, group: int) -> int:
    """Return the number of maxima of a row: of its groups, and of the tail after whole blocks."""
    whole = size - size % _BLOCK
    return ((whole + group - 1) // group + (1 if whole < size else 0)) * LANES


@compiled
def _fill_tail(logits: Floats, i: int, tail: Floats) -> None:
    """Copy the numbers of a row after its last whole block, padded with -inf."""
    size = logits.shape[1]
    whole = size - size % _BLOCK
    if whole < size:
        for j in range(_BLOCK):
            tail[j] = logits[i, whole + j] if whole + j < size else np.float32(-np.inf)


@compiled
def _find_maxima(logits: Floats, i: int, group: int, tail: Floats, maxima: Floats) -> None:
    """Write the largest numbers of each group of a row, leaving out NaN; -inf for none.

    tail: of `_fill_tail`.
    """
    size = logits.shape[1]
    whole = size - size % _BLOCK
    place = 0
    for first in range(0, whole, group):
        _find_group_maxima(logits, i * size + first, min(group, whole - first), maxima, place)
        place += LANES
    if whole < size:
        _find_group_maxima(tail, 0, _BLOCK, maxima, place)


@compiled
def _top_and_bound(maxima: Floats, count: int) -> tuple[np.float32, np.float32]:
    """Return the largest number, and a bound that at least `count` of them reach, and few more.

    The bound is -inf if there are fewer numbers. maxima: whole vectors.
    """
    size = maxima.size
    top = _largest(maxima, size)
    if count > size:
        return top, np.float32(-np.inf)
    low, high = _to_place(_smallest(maxima, size)), _to_place(top) + 1
    while high - low > 1:
        middle = (low + high) // 2
        reached = _reach(maxima, size, _to_number(middle))
        if reached < count:
            high = middle
        else:
            low = middle
            if reached <= count + count // 8:
                break
    return top, _to_number(low)


@compiled
def _sum_powers(logits: Floats, i: int, top: np.float32, tail: Floats, sums: Floats) -> np.float32:
    """Return the sum of e^(logit - top) in a row."""
    size = logits.shape[1]
    whole = size - size % _BLOCK
    sums[:] = np.float32(0.0)
    if whole:
        _add_powers(logits, i * size, whole, top, sums)
    if whole < size:
        _add_powers(tail, 0, _BLOCK, top, sums)
    return _sum(sums)


@compiled
def _mark(
    logits: Floats,
    i: int,
    group: int,
    maxima: Floats,
    bound: np.float32,
    tail: Floats,
    marks: _Words,
) -> None:
    """Mark the logits of a row that reach the bound."""
    size = logits.shape[1]
    whole = size - size % _BLOCK
    marks[:] = np.uint64(0)
    place = 0
    for first in range(0, whole, group):
        if _some_reach(maxima, place, bound):
            length = min(group, whole - first)
            _mark_reaching(logits, i * size + first, length, bound, marks, first // _BLOCK)
        place += LANES
    if whole < size:
        _mark_reaching(tail, 0, _BLOCK, bound, marks, marks.size - 1)
        marks[-1] &= (np.uint64(1) << np.uint64(size - whole)) - np.uint64(1)


@compiled
def _insert_marked(row: Floats, marks: _Words, values: Floats, ids: Ints) -> int:
    """Sort the best of the marked numbers by insertion; return how many places are filled."""
    filled, size = 0, values.size
    for block in range(marks.size):
        word = marks[block]
        while word:
            v = _BLOCK * block + _lowest_bit(word)
            word &= word - np.uint64(1)
            k = min(filled, size - 1)
            if filled == size and not row[v] > values[k]:
                continue
            while k > 0 and row[v] > values[k - 1]:
                values[k] = values[k - 1]
                ids[k] = ids[k - 1]
                k -= 1
            values[k] = row[v]
            ids[k] = v
            filled = min(filled + 1, size)
    return filled


@compiled
def _sort_marked(
    row: Floats,
    marks: _Words,
    words: _Words,
    spare: _Words,
    places: Ints,
    values: Floats,
    ids: Ints,
) -> int:
    """Sort the marked numbers digit by digit; return how many places are filled.

    words, spare: (V,). places: (_DIGITS, _RADIX).
    """
    size = 0
    for block in range(marks.size):
        word = marks[block]
        while word:
            v = _BLOCK * block + _lowest_bit(word)
            word &= word - np.uint64(1)
            words[size] = _to_word(row[v], v)
            size += 1
    places[:] = 0
    for j in range(size):
        for digit in range(_DIGITS):
            places[digit, _digit_of(words[j], digit)] += 1
    for digit in range(_DIGITS):
        if places[digit, _digit_of(words[0], digit)] == size:
            continue  # it is the same in all words
        place = 0
        for value in range(_RADIX):
            following = place + places[digit, value]
            places[digit, value] = place
            place = following
        for j in range(size):
            value = _digit_of(words[j], digit)
            spare[places[digit, value]] = words[j]
            places[digit, value] += 1
        words, spare = spare, words
    filled = min(size, values.size)
    for k in range(filled):
        v = np.int64(words[k] & np.uint64(0xFFFFFFFF))
        values[k] = row[v]
        ids[k] = v
    return filled


@compiled
def _to_word(number: np.float32, v: int) -> np.uint64:
    """Return a number and its id in one word; the larger the number, the smaller the word."""
    place = _to_place(number)
    if place == -1:
        place = np.int64(0)  # -0 equals 0
    return (np.uint64(0x7FFFFFFF - place) << np.uint64(32)) | np.uint64(v)


@compiled
def _digit_of(word: np.uint64, digit: int) -> np.int64:
    """Return a digit of a word's upper half, the lowest first."""
    return np.int64((word >> np.uint64(32 + 8 * digit)) & np.uint64(_RADIX - 1))


@compiled
def _to_place(number: np.float32) -> np.int64:
    """Return a number's place in the order of all floats, in which -0 comes before 0."""
    return np.int64(_order(number))


@compiled
def _to_number(place: int) -> np.float32:
    """Return the number of a place."""
    return _from_order(np.int32(place))


@generated(types.int32)
def _order(code: Code, number: Value) -> Value:
    """Return integers in the order of the numbers."""
    return _reverse_negative(number.bitcast(INT))


@generated(types.float32)
def _from_order(code: Code, place: Value) -> Value:
    """Return the number that `_order` turned into this integer."""
    return _reverse_negative(place).bitcast(FLOAT)


def _reverse_negative(bits: Value) -> Value:
    """Flip all bits but the sign's if that is set."""
    return bits ^ (-(bits >> 31) & 0x7FFFFFFF)


@generated(types.intp)
def _lowest_bit(code: Code, word: Value) -> Value:
    """Return the place of the lowest bit of a word that is not zero."""
    return code.call("llvm.cttz.i64", WORD, word, code.constant(1, BIT))


@generated(types.void)
def _find_group_maxima(
    code: Code, numbers: FlatArray, first: Value, length: Value, maxima: FlatArray, place: Value
) -> None:
    """Write the largest of numbers[first:] in each lane, leaving out NaN, to maxima[place:].

    length: a multiple of _BLOCK.
    """

    def raise_tops(index: Value, tops: list[Value]) -> list[Value]:
        vectors = _block(code, numbers, first + index)
        return [code.larger(v, top) for v, top in zip(vectors, tops, strict=True)]

    a, b, c, d = code.fold_all(length, _BLOCK, 4 * [code.constant(float("-inf"))], raise_tops)
    maxima.store(place, code.larger(code.larger(a, b), code.larger(c, d)))


@generated(types.float32)
def _largest(code: Code, numbers: FlatArray, length: Value) -> Value:
    """Return the largest of the first numbers, none of which is NaN; length: whole vectors."""
    lowest = code.constant(float("-inf"))
    return code.largest(
        code.fold(length, LANES, lowest, lambda i, top: code.larger(numbers.load(i), top))
    )


@generated(types.float32)
def _smallest(code: Code, numbers: FlatArray, length: Value) -> Value:
    """Return the smallest of the first numbers, none of which is NaN; length: whole vectors."""

    def lower(index: Value, smallest: Value) -> Value:
        vector = numbers.load(index)
        return code.select(smallest > vector, vector, smallest)

    smallest = code.fold(length, LANES, code.constant(float("inf")), lower)
    return code.call(f"llvm.vector.reduce.fmin.v{LANES}f32", FLOAT, smallest, fast=True)


@generated(types.intp)
def _reach(code: Code, numbers: FlatArray, length: Value, limit: Value) -> Value:
    """Return how many of the first numbers are at least `limit`; length: whole vectors."""
    least, zero, one = code.broadcast(limit), code.constant(0, INTS), code.constant(1, INTS)

    def count(index: Value, counts: Value) -> Value:
        return counts + code.select(numbers.load(index) >= least, one, zero)

    counts = code.fold(length, LANES, zero, count)
    return code.call(f"llvm.vector.reduce.add.v{LANES}i32", INT, counts).widened(WORD)


@generated(types.intp)
def _some_reach(code: Code, maxima: FlatArray, place: Value, limit: Value) -> Value:
    """Return a number that is not 0 if some of the LANES maxima from `place` on reach the limit."""
    return (maxima.load(place) >= code.broadcast(limit)).bitcast(SHORT).widened(WORD)


def _marker(above: bool) -> Any:
    """Return a kernel that marks the numbers above a limit, or all that reach it, a bit each.

    length: a multiple of _BLOCK.
    """

    def write(
        code: Code,
        numbers: FlatArray,
        first: Value,
        length: Value,
        limit: Value,
        marks: FlatArray,
        place: Value,
    ) -> None:
        limits = code.broadcast(limit)

        def mark(index: Value) -> None:
            vectors = _block(code, numbers, first + index)
            masks = [vector > limits if above else vector >= limits for vector in vectors]
            marks.store(place + (index >> 6), _word(code, masks))

        code.repeat(length, _BLOCK, mark)

    return generated(types.void)(write)


_mark_above, _mark_reaching = _marker(above=True), _marker(above=False)


@generated(types.void)
def _add_powers(
    code: Code, numbers: FlatArray, first: Value, length: Value, top: Value, sums: FlatArray
) -> None:
    """Add e^(numbers[first:] - top) to a block of sums; length: a multiple of _BLOCK."""
    largest, zero = code.broadcast(top), code.constant(0, WORD)

    def add(index: Value, totals: list[Value]) -> list[Value]:
        vectors = _block(code, numbers, first + index)
        return [
            code.exact_add(total, code.exp(vector - largest))
            for total, vector in zip(totals, vectors, strict=True)
        ]

    totals = code.fold_all(length, _BLOCK, _block(code, sums, zero), add)
    for number, total in enumerate(totals):
        sums.store(code.constant(LANES * number, WORD), total)


@generated(types.float32)
def _sum(code: Code, sums: FlatArray) -> Value:
    """Return the sum of a block: of pairs 32 apart, of these 16 apart, and so on."""
    a, b, c, d = _block(code, sums, code.constant(0, WORD))
    vector = code.exact_add(code.exact_add(a, c), code.exact_add(b, d))
    size = LANES
    while size > 1:
        size //= 2
        vector = code.exact_add(code.part(vector, size, 0), code.part(vector, size, size))
    return code.value(code.builder.extract_element(vector.llvm, INT(0)))


def _block(code: Code, numbers: FlatArray, first: Value) -> list[Value]:
    """Load the vectors of a block."""
    return [numbers.load(first + LANES * number) for number in range(4)]


def _word(code: Code, masks: list[Value]) -> Value:
    """Return the lanes of a block's masks as the bits of a word, the first one lowest."""
    word = code.constant(0, WORD)
    for number, mask in enumerate(masks):
        word = word ^ (mask.bitcast(SHORT).widened(WORD) << LANES * number)
    return word
