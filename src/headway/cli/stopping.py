"""Print a sentence when Ctrl-C, SIGTERM or the hang-up of a terminal ends a command."""

import sys
from contextlib import suppress
from typing import Any

import typer

from headway.cli.guesses import Commands
from headway.runtime.signals import interrupted_by_termination
from headway.stopping import last_words

_INTERRUPTED = 130

# For commands that have no sentence of their own.
_SENTENCES = {
    "align": "Stopped. The lines printed so far are complete.",
    "bench": "Stopped. No measurements were kept.",
    "calibrate": "Stopped. The model is unchanged.",
    "check": "Stopped. Nothing was changed; run it again.",
    "clean": "Stopped. Your text is unchanged; run it again.",
    "drafts": "Stopped. The model is unchanged.",
    "pull": "Stopped. Files that were downloaded stay in the cache; run it again.",
    "push": "Stopped. The repository is as it was, or has the whole model.",
    "score": "Stopped. Nothing was scored.",
    "shortlist": "Stopped. The model is unchanged.",
    "train": "Stopped before the first step. Nothing was saved yet; run it again.",
    "translate": "Stopped. The lines written so far are complete and in order.",
}
_OTHERS = "Stopped. Nothing was written; run it again."


class StoppableCommands(Commands):
    """The table of commands; prints a sentence when a signal ends one of them."""

    def invoke(self, ctx: Any) -> Any:
        """Call the command; exit with 130 if Ctrl-C ends it, and by the signal if another does."""
        with interrupted_by_termination():
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt as error:
                sentence = last_words(error) or _SENTENCES.get(ctx.invoked_subcommand, _OTHERS)
                with suppress(OSError):  # a closed terminal
                    print(f"\n{sentence}", file=sys.stderr)
                raise typer.Exit(_INTERRUPTED) from None
