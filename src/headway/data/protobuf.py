"""Read and write protobuf messages without the protobuf package, too large for a few numbers."""

from collections.abc import Iterator, Sequence


def fields_of(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each top-level field of a message."""
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


def bytes_field(number: int, content: bytes) -> bytes:
    """Return a field of bytes: a text, or a message in the message."""
    return _encoded_varint(number << 3 | 2) + _encoded_varint(len(content)) + content


def number_field(number: int, value: int) -> bytes:
    """Return a field of a number, 0 or greater."""
    return _encoded_varint(number << 3) + _encoded_varint(value)


def _encoded_varint(value: int) -> bytes:
    """Return a number in protobuf's variable length: seven bits a byte, the lowest first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])
