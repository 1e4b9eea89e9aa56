"""Reports of a training: a progress bar, a line for each validation, and metrics.jsonl."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from headway.counted import counted
from headway.evaluation.meaning import meaning, meanings
from headway.json_text import to_json
from headway.messages import message_console
from headway.training.not_finite import TextPlace
from headway.training.run_folder import writing_run
from headway.training.tensorboard import EventFiles
from headway.training.update import StepResult

_WINDOW_STEPS = 40  # for the shown loss and speed
_DRAWN = 0.1  # seconds from one drawing of the bar to the next
_FIRST_LINE, _NEXT_LINES = 10, 60  # seconds until progress of a preparation is printed

Show = Callable[[int], None]


class Reporter:
    """Show and record the course of one run.

    On a terminal a bar moves, elsewhere a line a minute is printed, both with the mean loss of the
    last 40 updates; with quiet nothing is printed. The record in metrics.jsonl is always the same.
    """

    def __init__(self, quiet: bool = False, console: Console | None = None) -> None:
        """Print to standard error, so that standard output stays free for results."""
        self.console = console or message_console(quiet=quiet)
        self.metrics: Path | None = None
        self._events: EventFiles | None = None
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._window: deque[tuple[float, int]] = deque(maxlen=_WINDOW_STEPS)
        self._losses: deque[tuple[float, int]] = deque(maxlen=_WINDOW_STEPS)
        self._first, self._last = (0.0, 0), 0  # time and step of the beginning; last step
        self._due = 0.0
        self._meanings: dict[str, str] = {}

    def say(self, message: str) -> None:
        """Print one line."""
        self.console.print(message, markup=False, soft_wrap=True)

    @contextmanager
    def preparing(self, task_name: str) -> Iterator[Show]:
        """Show the progress of a preparation, as the number of pairs so far.

        On a terminal a line counts and disappears at the end; elsewhere lines are printed.
        """
        if not self.console.is_terminal or self.console.quiet:
            yield self._now_and_then(task_name)
            return
        # Drawn on request only: with a thread that draws, no process could be forked.
        columns = TextColumn(f"{task_name}: {{task.completed:,}} pairs"), TimeElapsedColumn()
        with Progress(*columns, console=self.console, auto_refresh=False, transient=True) as line:
            task = line.add_task("", total=None)
            line.refresh()
            yield lambda count: line.update(task, completed=count, refresh=True)

    def _now_and_then(self, task_name: str) -> Show:
        due = time.monotonic() + _FIRST_LINE

        def show(count: int) -> None:
            nonlocal due
            if time.monotonic() >= due:
                due = time.monotonic() + _NEXT_LINES
                self.say(f"{task_name}: {counted(count, 'pair')} so far.")

        return show

    def start(self, metrics: Path | None, step: int, max_steps: int) -> None:
        """Begin to record, unless metrics is None; the bar starts at `step`."""
        self.metrics = metrics
        now = time.perf_counter()
        self._first, self._last, self._due = (now, step), max_steps, now + _NEXT_LINES
        if self.console.is_terminal and not self.console.quiet:
            self._bar = Progress(
                TextColumn("step {task.completed}/{task.total}"),
                BarColumn(bar_width=None),
                TextColumn("mean loss {task.fields[loss]}  {task.fields[speed]} target tokens/s"),
                TimeElapsedColumn(),
                _TimeLeft(),
                console=self.console,
                auto_refresh=False,  # drawn by `update`
            )
            self._bar.start()
            self._task = self._bar.add_task("", total=max_steps, loss="-", speed="-")
            self._bar.update(self._task, completed=step, refresh=True)
            self._due = now

    def expect(self, max_steps: int) -> None:
        """Count up to another last step from here on."""
        self._last = max_steps
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, total=max_steps)

    def write_events(self, folder: Path, step: int) -> None:
        """Record everything after `step` for TensorBoard too."""
        self._events = EventFiles(folder, step)

    def stop(self) -> None:
        """Remove the bar and end the event file."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        if self._events is not None:
            events, self._events = self._events, None
            events.close()

    def step(self, step: int, result: StepResult) -> None:
        """Show one update."""
        now = time.perf_counter()
        self._window.append((now, result.target_tokens))
        self._losses.append((result.loss * result.target_tokens, result.target_tokens))
        losses, pieces = map(sum, zip(*self._losses, strict=True))
        loss, speed = f"{losses / pieces:.3f}", self._speed()
        if self._bar is not None and self._task is not None:
            is_due = now >= self._due
            self._due = now + _DRAWN if is_due else self._due
            self._bar.update(
                self._task,
                completed=step,
                loss=loss,
                speed=f"{speed:,.0f}" if speed else "-",
                refresh=is_due,
            )
        elif self._last and now >= self._due:
            self._due = now + _NEXT_LINES
            (began, first), steps_left = self._first, self._last - step
            minutes = (now - began) / max(step - first, 1) * steps_left / 60
            # The first update after a validation has no speed yet.
            rate = f"{speed:,.0f} target tokens/s  " if speed else ""
            self.say(
                f"step {step:,} of {self._last:,}  mean loss {loss}  {rate}about {minutes:,.1f} "
                "minutes left"
            )

    def record_step(self, step: int, epoch: int, loss: float, last: StepResult) -> None:
        """Record the mean loss of the latest updates, with rate and gradient of the last one."""
        record = {
            "kind": "step",
            "step": step,
            "epoch": epoch,
            "loss": round(loss, 6),
            "rate": last.rate,
            "gradient_norm": round(last.gradient_norm, 4),
            "target_tokens_per_second": round(self._speed(), 1),
        }
        self._record(record)
        if self._events is not None:
            self._events.steps(record)

    def validation(self, values: dict[str, Any], best_metric: str = "loss") -> None:
        """Print and record one validation; `best` among the values is by best_metric."""
        self._record({"kind": "validation"} | values)
        if self._events is not None:
            self._events.validation(values)
        shown = [f"step {values['step']:,}", f"epoch {values['epoch']}"]
        shown += [f"loss {values['loss']:.4f}", f"perplexity {values['perplexity']:.2f}"]
        shown += [f"{key} {value:.2f}" for key, value in values["scores"].items()]
        shown.append(f"{values['seconds'] / 60:.1f} min")
        if not values["step"]:
            shown.append("the starting model")
        elif values["best"]:
            shown.append(f"best {best_metric} so far")
        self.say("  ".join(shown))
        self.samples(values["samples"])
        self.scores(values["scores"])
        self._window.clear()  # validation is not part of the speed of training

    def samples(self, samples: Sequence[Mapping[str, str]]) -> None:
        """Print a few sentences, each with its reference and the model's translation."""
        for sample in samples:
            for label in ("source", "reference", "translation"):
                self.say(f"  {label:<11}  {sample[label]}")

    def scores(self, scores: Mapping[str, float], *, again: bool = False) -> None:
        """Print the meaning of scores; unless `again`, only if it has changed."""
        words = {name: meaning(name, value) for name, value in scores.items()}
        if again or words != self._meanings:
            for line in meanings(scores):
                self.say(f"  {line}")
        self._meanings = words

    def diagnosis(
        self,
        step: int,
        problem: str,
        message: str,
        *,
        places: Sequence[TextPlace] = (),
        say: bool = True,
    ) -> None:
        """Record a problem, and print it if `say`."""
        record = {"kind": "diagnosis", "step": step, "problem": problem, "message": message}
        of_pairs = {
            "lines": [place.line for place in places],
            "corpora": [place.corpus for place in places],
        }
        self._record(record | (of_pairs if places else {}))
        if say:
            self.say(f"step {step:,}  {message}")

    def _speed(self) -> float:
        if len(self._window) < 2:
            return 0.0
        seconds = self._window[-1][0] - self._window[0][0]
        return sum(tokens for _, tokens in list(self._window)[1:]) / max(seconds, 1e-9)

    def _record(self, values: dict[str, Any]) -> None:
        if self.metrics is not None:
            with writing_run(self.metrics), open(self.metrics, "ab") as file:
                file.write(to_json(values).encode() + b"\n")


SILENT = Reporter(quiet=True)
"""For silent preparation; each run has its own reporter."""


class _TimeLeft(ProgressColumn):
    """Show the time left, in hours, minutes and seconds."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        seconds_left = task.time_remaining
        if seconds_left is None:
            return Text("-:--:-- left")
        minutes, seconds = divmod(int(seconds_left), 60)
        return Text(f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d} left")
