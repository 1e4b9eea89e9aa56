"""A sentence at every Ctrl-C, whichever command it ends."""

import sys
from contextlib import suppress
from typing import Any

import typer

from headway.cli.guesses import Commands
from headway.stopping import last_words

_INTERRUPTED = 130

# For commands that do not know better where they are.
_SENTENCES = {
    "align": "Stopped. The lines that are printed are whole.",
    "bench": "Stopped. Nothing that was measured is kept.",
    "check": "Stopped. Nothing was changed; start it again.",
    "clean": "Stopped. The text is as it was; start it again.",
    "export": "Stopped. The export is not whole; start it again.",
    "score": "Stopped. Nothing was scored.",
    "shortlist": "Stopped. The model is as it was.",
    "train": "Stopped before the first step. Nothing was saved yet; start it again.",
    "translate": "Stopped. The lines that were written are whole and in order.",
}
_OTHERS = "Stopped. Nothing was written; start it again."


class StoppableCommands(Commands):
    """The table of commands; a Ctrl-C that ends one of them prints a sentence."""

    def invoke(self, ctx: Any) -> Any:
        """Call the command; exit with 130 where Ctrl-C ends it."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            sentence = last_words(error) or _SENTENCES.get(ctx.invoked_subcommand, _OTHERS)
            with suppress(OSError):  # a closed terminal
                print(f"\n{sentence}", file=sys.stderr)
            raise typer.Exit(_INTERRUPTED) from None
