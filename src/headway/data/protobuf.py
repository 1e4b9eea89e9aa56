"""Reads a message of protobuf without that package, which would be a heavy one for two numbers."""

from collections.abc import Iterator, Sequence


def fields_of(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each top-level field of a protobuf message."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == 0:
            value, position = _varint(data, position)
            yield number, value
            continue
        size = {1: 8, 5: 4}.get(wire_type)
        if size is None:
            size, position = _varint(data, position)
        yield number, data[position : position + size]
        position += size


def _varint(data: Sequence[int], position: int) -> tuple[int, int]:
    """Return the variable-length number at a position, and the position after it."""
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position
