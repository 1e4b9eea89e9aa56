"""A text that counts the characters of its slices."""


class Counted(str):
    """Count what is taken of it: a function that takes all of the rest again and again shows."""

    __slots__ = ("taken",)

    def __init__(self, _: str) -> None:
        self.taken = 0

    def __getitem__(self, place) -> str:
        stretch = super().__getitem__(place)
        self.taken += len(stretch)
        return stretch
