"""Progress of a piece of work: a bar on a terminal, one line a minute elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from headway.messages import message_console
from headway.stopping import if_stopped

if TYPE_CHECKING:
    from rich.console import Console

Advance = Callable[[int], None]
"""A function that takes the number of units done since its last call."""

_DRAWN_SECONDS = 0.1
_LINE_SECONDS = 60.0
_ENOUGH = 10
"""Units, below which the time of each says little: the first one may compile kernels."""


@contextmanager
def progress(
    what: str,
    total: int | None,
    *,
    unit: str = "sentences",
    quiet: bool = False,
    console: "Console | None" = None,
    stopped: str = "",
) -> Iterator[Advance]:
    """Show the progress of the work in the block, on standard error.

    On a terminal a bar shows the units and the time left, and disappears at the end. Elsewhere one
    line a minute is printed; with quiet, nothing. A failure to write ends no work.

    what: the work as a noun, such as "Translation". total: None if it is not known. console: used
    instead of a new one. stopped: a sentence on the outcome, added to a KeyboardInterrupt as a note
    after the number of units done.
    """
    console = console or message_console(quiet=quiet)
    shown = _Shown(what, total, unit, console)
    draw = _bar if console.is_terminal and not console.quiet else _lines

    def ending() -> str:
        return f"Stopped after {shown.count()}. {stopped}".strip()

    with if_stopped(ending), draw(shown) as update:

        def advance(count: int) -> None:
            shown.done += count
            update()

        yield advance


class _Shown:
    """The state of a piece of work, and the console that shows it."""

    def __init__(self, name: str, total: int | None, unit: str, console: "Console") -> None:
        self.what = name
        self.total = total
        self.unit = unit
        self.console = console
        self.done = 0

    def count(self) -> str:
        """Return the number of units done, and the total if it is known."""
        of = "" if self.total is None else f" of {self.total:,}"
        return f"{self.done:,}{of} {self.unit}"

    def say(self, line: str) -> None:
        with suppress(OSError):
            self.console.print(line, markup=False, soft_wrap=True)


@contextmanager
def _bar(shown: _Shown) -> Iterator[Callable[[], None]]:
    """Give a function that redraws the bar, at most ten times a second."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[count]}", markup=False),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=shown.console,
        auto_refresh=False,  # because no process is forked while a thread draws
        transient=True,
    )
    task = bar.add_task(shown.what, total=shown.total, count=shown.count())
    due = 0.0

    def update() -> None:
        nonlocal due
        bar.update(task, completed=shown.done, count=shown.count())
        if time.monotonic() >= due:
            due = time.monotonic() + _DRAWN_SECONDS
            with suppress(OSError):
                bar.refresh()

    try:
        with suppress(OSError):
            bar.start()
        update()
        yield update
    finally:
        with suppress(OSError):
            bar.stop()


@contextmanager
def _lines(shown: _Shown) -> Iterator[Callable[[], None]]:
    """Give a function that prints a line if a minute has passed since the last one."""
    start = time.monotonic()
    due = start + _LINE_SECONDS

    def update() -> None:
        nonlocal due
        now = time.monotonic()
        if now < due:
            return
        due = now + _LINE_SECONDS
        line = f"{shown.what}: {shown.count()}"
        if shown.done >= _ENOUGH and shown.total is not None:
            left = (now - start) * (shown.total - shown.done) / shown.done
            line += f", about {left / 60:,.1f} minutes left"
        shown.say(f"{line}.")

    yield update
