"""The time until one sentence is translated by a new process: import, load, translate, end.

After an installation Headway has neither machine code nor measurements of the machine, and makes
both. Later processes find them on disk. CTranslate2 keeps nothing on disk.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from headway.bench.contestants import in_turns
from headway.bench.jobs import Text
from headway.errors import RunError

_SCRIPT = Path(__file__).with_name("first_of_ctranslate2.py")


@dataclass(frozen=True, slots=True)
class FirstSentence:
    """Medians of the seconds of a whole process."""

    after_installation: float
    """Ours, with empty folders for machine code and measurements."""
    after_start: float
    """Ours, with both on disk."""
    peer: float | None
    """The peer's, which is the same at both times; None without a peer."""

    def as_dict(self) -> dict[str, float | None]:
        """Return plain values for JSON."""
        return {
            "after_installation": round(self.after_installation, 3),
            "after_start": round(self.after_start, 3),
            "peer": None if self.peer is None else round(self.peer, 3),
        }

    def lines(self) -> Iterator[str]:
        """Yield lines for people."""
        yield "first sentence of a new process"
        yield f"  after installation {self.after_installation:7.2f} s"
        yield f"  after start        {self.after_start:7.2f} s"
        if self.peer is not None:
            yield f"  peer               {self.peer:7.2f} s"


def measure_first_sentence(
    bundle: Path,
    exported: Path | None,
    text: Text,
    beam_size: int,
    rounds: int,
    trust_code: bool = False,
) -> FirstSentence:
    """Let new processes translate the first sentence, in turns.

    exported: the bundle in int8 for CTranslate2; None without a peer. trust_code: run the code that
    the bundle may have.
    """
    sentence = text.sentences[0]
    ours = [sys.executable, "-m", "headway", "translate", str(bundle), "--text", sentence]
    ours += ["--beam", str(beam_size), "--quiet", "--device", "cpu"]
    ours += ["--trust-code"] if trust_code else []
    if text.length is not None:
        ours += ["--min-length", str(text.length), "--max-length", str(text.length)]
    with tempfile.TemporaryDirectory() as kept:
        calls: dict[str, Callable[[], float]] = {
            "after_installation": partial(_seconds_in_new_folders, ours),
            "after_start": partial(_seconds, ours, _keeping_in(kept)),
        }
        calls["after_start"]()  # makes what later processes find
        if exported is not None:
            limit = text.limit(len(sentence))  # enough: tokens have characters
            numbers = map(str, (beam_size, limit, text.shortest))
            # -P: the script's folder has a module with the name of the library.
            peer = [sys.executable, "-P", str(_SCRIPT), str(exported), sentence, *numbers]
            calls["peer"] = partial(_seconds, peer, {})
        seconds = {name: statistics.median(s) for name, s in in_turns(calls, rounds).items()}
    return FirstSentence(seconds["after_installation"], seconds["after_start"], seconds.get("peer"))


def _keeping_in(folder: str) -> dict[str, str]:
    """Return the environment of a process that keeps machine code and measurements there."""
    return {"NUMBA_CACHE_DIR": folder, "XDG_CACHE_HOME": folder}


def _seconds_in_new_folders(command: Sequence[str]) -> float:
    with tempfile.TemporaryDirectory() as empty:
        return _seconds(command, _keeping_in(empty))


def _seconds(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Run a command to its end; return the seconds."""
    start = time.perf_counter()
    done = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    taken = time.perf_counter() - start
    if done.returncode:
        raise RunError(
            f"The process that translates one sentence ended with {done.returncode}: "
            f"{done.stderr.strip()[-500:]}",
            "Run this to see it alone: " + " ".join(command[:5]) + " …",
        )
    return taken
