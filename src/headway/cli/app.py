"""The table of commands, and the messages of errors."""

import errno
import io
import os
import sys
import warnings
from typing import Any

import typer

from headway.cli import (
    align,
    bench,
    bulk,
    calibrate,
    check,
    clean,
    demo,
    drafts,
    evaluate,
    export,
    importing,
    info,
    inspect,
    pull,
    push,
    score,
    serve,
    shortlist,
    train,
    translate,
    warm_up,
)
from headway.cli.encoding import use_utf8
from headway.cli.guesses import Command
from headway.cli.stopping import StoppableCommands
from headway.errors import HeadwayWarning
from headway.kernels.codegen.compile_notice import tell_of_compiling
from headway.messages import discard, unfailing_messages
from headway.runtime.atomic_files import SIZE_LIMIT

app = typer.Typer(
    cls=StoppableCommands,
    name="headway",
    help="Train a Transformer translator from parallel text, look inside it, and ship it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# A newcomer needs them in this order.
for command in (
    demo.demo,
    check.check,
    clean.clean,
    train.train,
    translate.translate,
    inspect.inspect,
    serve.serve,
    evaluate.evaluate,
    score.score,
    align.align,
    shortlist.shortlist,
    drafts.drafts,
    calibrate.calibrate,
    info.info,
    export.export,
    push.push,
    pull.pull,
    warm_up.warm_up,
):
    app.command(command.__name__.replace("_", "-"), cls=Command)(command)
app.add_typer(importing.importing, name="import")
app.add_typer(bulk.bulk, name="bulk")
app.add_typer(bench.bench, name="bench")

_NOT_WRITTEN = {
    errno.ENOSPC: "Free some space",
    errno.EDQUOT: "Free some space",
    errno.EFBIG: SIZE_LIMIT,
    errno.EIO: "Check the disk, or the terminal,",
}


@app.callback(invoke_without_command=True)
def root(
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    """Train a Transformer translator from parallel text, look inside it, and ship it."""
    if version:
        from headway import __version__

        print(f"headway {__version__}")
        raise typer.Exit


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 failed, 2 wrong call or configuration, 130 Ctrl-C.

    An error is one line on standard error; `--debug` shows where it came from.
    """
    if arguments is None:
        use_utf8()
        arguments = sys.argv[1:]
    if sys.stderr is None:  # closed; print would write to standard output instead
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):  # the same in every locale, as in files of text
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    if "--quiet" not in arguments and sys.stderr.isatty():  # a person is waiting
        tell_of_compiling(lambda message: print(f"Note: {message}", file=sys.stderr))
    if "--quiet" in arguments or not sys.stderr.isatty():  # read by the library of the hub
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    with warnings.catch_warnings(), unfailing_messages():
        _show_warnings_as_notes("--quiet" in arguments)
        try:
            try:
                # Typer itself ends usage errors with 2 and a closed pipe with 1.
                app(arguments)
            finally:
                _flush()
        except Exception as error:
            if "--debug" in arguments:
                raise
            sys.exit(_explain(error))


def _show_warnings_as_notes(quiet: bool) -> None:
    """Print a warning of Headway as one sentence, without the line of code."""
    warnings.simplefilter("default", HeadwayWarning)
    show_others = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
        if not issubclass(category, HeadwayWarning):
            show_others(message, category, *place, **options)
        elif not quiet:
            print(f"Note: {message}", file=sys.stderr)

    warnings.showwarning = show


def _flush() -> None:
    """Write the rest of the output while an error can still be explained.

    When Python ends, it would write it too, but print a traceback on an error.
    """
    if sys.stdout is None:  # closed from the beginning
        return
    try:
        sys.stdout.flush()
    except OSError:
        discard(sys.stdout)
        raise


def _explain(error: Exception) -> int:
    from headway.errors import HeadwayError

    if isinstance(error, BrokenPipeError):
        return 1  # the reader has closed the pipe
    if isinstance(error, HeadwayError):
        return _fail(f"Error: {error}", error.exit_status)
    if isinstance(error, OSError) and error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
        name = str(error.filename)
        shown = name if len(name) < 60 else f"{name[:50]}…"
        return _fail(f"Error: '{shown}' is not a usable file name ({error.strerror}). Check it.", 2)
    if isinstance(error, ValueError) and "embedded null" in str(error):
        return _fail("Error: The name of a file has a character NUL in it. Take it out.", 2)
    if isinstance(error, OSError) and error.errno in _NOT_WRITTEN:
        where = error.filename or "The output"
        remedy = f"{_NOT_WRITTEN[error.errno]} and run it again."
        return _fail(f"Error: {where} cannot be written ({error.strerror}). {remedy}", 1)
    return _fail(
        f"Error: {type(error).__name__}: {error} This is a fault of Headway, or of the machine; "
        "run it again with --debug to see where.",
        1,
    )


def _fail(message: str, status: int) -> int:
    print(" ".join(message.split()), file=sys.stderr)
    return status
