"""Help with guessed calls: other spellings work, and an error suggests the correct call.

Every command of the table is a `Command`, so that no command has hints of its own.
"""

import copy
import difflib
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from headway.errors import ConfigError
from headway.home import expanded

# Typer includes Click or depends on it, by its version; this is the class that it raises.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

_SPELLINGS = {
    "--beam": ("--beam-size", "--beams", "--num-beams"),
    "--nbest": ("--n-best",),
    "--out": ("--output",),
    "--reference": ("--target",),
    "--target": ("--reference",),
    "--text": ("--sentence",),
}
"""By option: spellings that mean the same if a command has no such option."""

_SHORT = {"--out": "-o"}
_OTHER_VALUES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "gpu": "cuda"}
_OTHER_SETTINGS = {
    "batch_size": "batch_tokens",
    "epochs": "max_epochs",
    "lr": "learning_rate",
    "steps": "max_steps",
    "vocab_size": "vocabulary_size",
}
_OTHER_OPTIONS = {
    "time": ("--minutes",),
    "max-time": ("--minutes",),
    "hours": ("--minutes",),
    "valid": ("--valid-source", "--valid-target"),
    "dev": ("--valid-source", "--valid-target"),
    "validation": ("--valid-source", "--valid-target"),
}
"""By the word of another toolkit: the options that are meant, if a command has them."""
_COMPARED = "evaluate A B --source FILE --reference FILE"
_OTHER_COMMANDS = {
    "bleu": "evaluate --hypothesis FILE --source FILE --reference FILE",
    "compare": _COMPARED,
    "diff": _COMPARED,
    "generate": "translate MODEL FILE",
    "predict": "translate MODEL FILE",
    "preprocess": "check --source FILE --target FILE",
    "test": "evaluate MODEL --source FILE --reference FILE",
}
_MARIANS = (
    "bergamot", "firefox", "hf", "hugging-face", "huggingface", "mozilla", "opus", "opus-mt",
    "opusmt", "student", "transformers",
)  # fmt: skip
_OTHER_COMMANDS |= {f"import {name}": "import marian DIR --out BUNDLE" for name in _MARIANS}
_TEXT_OPTIONS = ("--source", "--target", "--reference", "--valid-source", "--valid-target")
_NUMBERS = re.compile("valid (number|integer)")
_BEYOND = re.compile(r"should be (greater|less) than or equal to (\S+)")
_MODEL = ("-m", "--model", "--model-path", "--checkpoint")
_INPUT = ("-i", "--in", "--input", "--input-file", "--file", "--src")
_SENTENCE = ("--sentence", "--source", "--text", *_INPUT)
_INPUTS = {
    "FILE", "--glossary", "--gold", "--hypothesis", "--prefix", "--reference", "--sample",
    "--source", "--target", "--terms",
}  # fmt: skip
_OUTPUTS = {"--alignments", "--out"}
_WRITE_LINES = ("translate", "evaluate")  # the commands whose --out is a file of lines


class Commands(TyperGroup):
    """A table of commands that knows the names of commands in other toolkits.

    An error of the call is a ConfigError, whose message is one line, and not Click's own, which
    prints several.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return a command; ConfigError suggests the one that was probably meant."""
        try:
            return super().resolve_command(ctx, args)
        except UsageError:
            words = _words(ctx)
            if call := _OTHER_COMMANDS.get(" ".join([*words, args[0].lower()])):
                remedy = f"Here it is: headway {call}"
            elif words == ["import"] and Path(args[0]).exists():
                remedy = f"Name its program first: {' or '.join(self.commands)}."
            elif near := difflib.get_close_matches(args[0], self.commands, n=1):
                remedy = f"Did you mean {' '.join(['headway', *words, *near])}?"
            else:
                remedy = f"See {' '.join(['headway', *words])} --help."
            raise ConfigError(f"There is no command '{args[0]}'.", remedy) from None

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Read what comes before the command; ConfigError if it is wrong."""
        with _errors_in_one_line():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        """Read the rest of the line and call the command; ConfigError if it is wrong."""
        with _errors_in_one_line():
            return super().invoke(ctx)


class Command(TyperCommand):
    """A command that takes other spellings and `-` for a standard stream, and gives hints.

    With a hint, it raises ConfigError, whose message is one line that can be copied; otherwise
    Click's own error, of which `Commands` makes one.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        """Add short forms of options."""
        super().__init__(*arguments, **settings)
        for param in self.params:
            param.opts += [_SHORT[name] for name in param.opts if name in _SHORT]

    def make_parser(self, ctx: Any) -> Any:
        """Return a parser that also takes the other spellings, which the help does not list."""
        parser = super().make_parser(ctx)
        names = self._options()
        for name, spellings in _SPELLINGS.items():
            free = [spelling for spelling in spellings if spelling not in names]
            if name in names and free:
                alias = copy.copy(names[name])
                alias.opts, alias.secondary_opts = free, []
                alias.add_to_parser(parser, ctx)
        return parser

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; ConfigError suggests what was probably meant."""
        asked = list(args)
        try:
            remaining = super().parse_args(ctx, args)
        except UsageError as error:
            if option := getattr(error, "option_name", None):
                raise self._wrong_option(ctx, option) from None
            if wrong_number := self._wrong_number(ctx, asked, error):
                raise wrong_number from None
            if hint := self._arguments_hint(ctx, asked):
                message = getattr(error, "message", "") or "An option is missing"
                raise ConfigError(f"{message.rstrip('.')}.", hint) from None
            raise
        self._name_streams(ctx)
        for name, value in ctx.params.items():  # no shell expands `--out=~/x`
            ctx.params[name] = _at_home(value)
        return remaining

    def _options(self) -> dict[str, Any]:
        return {name: param for param in self.params for name in param.opts if name[0] == "-"}

    def _wrong_option(self, ctx: Any, option: str) -> ConfigError:
        """Return the error for an option that this command does not have, or without its value."""
        command = " ".join(_words(ctx))
        if option in self._options():
            return ConfigError(
                f"{option} is without its value.", f"Write it behind; see headway {command} --help."
            )
        message = f"`headway {command}` has no option {option}."
        return ConfigError(message, self._suggestion(option) or f"See headway {command} --help.")

    def _wrong_number(self, ctx: Any, asked: Sequence[str], error: Exception) -> ConfigError | None:
        """Return the error for a value out of range or not a number; None for other errors."""
        param, message = getattr(error, "param", None), getattr(error, "message", "")
        kind, beyond = _NUMBERS.search(message), _BEYOND.search(message)
        if param is None or not (kind or beyond):
            return None
        value = self.make_parser(ctx).parse_args(list(asked))[0].get(param.name)
        if not isinstance(value, str):
            return None
        if beyond:
            side = "at least" if beyond[1] == "greater" else "at most"
            return ConfigError(
                f"{param.opts[0]} is {value}, but must be {side} {beyond[2]}.",
                f"Give {beyond[2]}, say.",
            )
        assert kind is not None
        begun = re.match(r"\d+(?=[a-z ]*$)", value)
        noun = "a number" if kind[1] == "number" else "a whole number"
        return ConfigError(
            f"{param.opts[0]} is '{value}', but must be {noun}.",
            f"Give {begun[0] if begun else 10}, say.",
        )

    def _suggestion(self, option: str) -> str:
        """Return a hint at the option that was probably meant, or an empty text."""
        names, arguments = self._options(), [p.name for p in self.params if "--" not in p.opts[0]]
        wanted = option.lstrip("-")
        if option in _MODEL and "model" in arguments:
            return f"The model is the first argument: headway {self.name} MODEL …"
        if option in _MODEL and "--from" in names:
            return "Did you mean --from MODEL? Sizes of a new model are those of --preset."
        if option == "--set" and "--source-field" in names:
            return (
                "Here --source-field, --source-column and --source-language are options, and so "
                "are those of the target."
            )
        if option == "--minutes" and "--set" in names:
            return (
                "headway train --minutes N measures the speed and chooses the steps; headway "
                "check estimates the time of steps that are set: --set training.max_steps=…"
            )
        if wanted in _OTHER_OPTIONS and (meant := _OTHER_OPTIONS[wanted])[0] in names:
            return f"Did you mean {' and '.join(name for name in meant if name in names)}?"
        if option in _SENTENCE and "sentence" in arguments:
            return f"The sentence is the second argument: headway {self.name} MODEL SENTENCE"
        if option in _INPUT and "file" in arguments:
            return f"The text is the second argument: headway {self.name} MODEL FILE"
        if option in _INPUT and "--source" in names:
            return "Did you mean --source?"
        if value := self._flag_of_value(wanted):
            return f"Did you mean {value}?"
        setting = _setting(wanted) if "--set" in names else ""
        is_exact = setting.endswith(f".{wanted.replace('-', '_')}")
        near = difflib.get_close_matches(option, names, n=3, cutoff=0.7)
        if near and not is_exact:
            return f"Did you mean {' or '.join(near)}?"
        return f"Did you mean --set {setting}=…?" if setting else ""

    def _flag_of_value(self, wanted: str) -> str:
        """Return the option for a value that was written as an option, such as `--int8`."""
        if wanted == "greedy" and "--beam" in self._options():
            return "--beam 1"
        wanted = _OTHER_VALUES.get(wanted, wanted)
        for name, param in self._options().items():
            values = (param.metavar or "").split("|")
            if len(values) > 1 and wanted in values:
                return f"{name} {wanted}"
        return ""

    def _arguments_hint(self, ctx: Any, asked: Sequence[str]) -> str:
        """Return a hint at the options for files that were given without any."""
        options, remaining, _ = self.make_parser(ctx).parse_args(list(asked))
        arguments = [p.name for p in self.params if "--" not in p.opts[0]]
        first, *more = [_flat(options.get(name)) for name in arguments] or [[]]
        positional = [*first, *(text for some in more for text in some), *remaining]
        names = self._options()
        if "--text" in names:
            if not remaining:
                return ""
            if any(Path(text).exists() for text in positional[2:]):
                return "It takes one file: call it once for each."
            if len(positional) == 3 and all(map(_like_a_file, positional[1:])):
                return f"Did you mean --out {quote(positional[2])}?"
            if Path(positional[1]).exists():
                return "It takes one file: call it once for each."
            sentence = quote(" ".join(positional[1:]))
            return f"A sentence is one argument, in quotes: --text {sentence}"
        texts = [text for text in positional["model" in arguments or "models" in arguments :]
                 if not text.endswith(".toml") and not Path(text).is_dir()]  # fmt: skip
        free = [name for name in _TEXT_OPTIONS if name in names and not options.get(_key(name))]
        if not texts or "--source" not in names or len(texts) > len(free):
            return ""
        pairs = zip(free, texts, strict=False)
        return f"Did you mean {' '.join(f'{name} {quote(text)}' for name, text in pairs)}?"

    def _name_streams(self, ctx: Any) -> None:
        """Replace `-` by standard input or standard output for all parameters that are files."""
        streams: dict[str, str] = {}
        for param in self.params:
            value = ctx.params.get(param.name)
            values = value if isinstance(value, (list, tuple)) else [value]
            name = param.opts[0] if param.opts[0][0] == "-" else param.name.upper()
            dashes = [place for place, item in enumerate(values) if str(item) == "-"]
            if not dashes or (stream := self._stream(name)) is None:
                continue
            if stream in streams or len(dashes) > 1:
                raise ConfigError(
                    f"{streams.get(stream, name)} and {name} are both `-`, one standard stream.",
                    "Name a file for one of them.",
                )
            streams[stream] = name
            named = None if self._is_usual(name) else Path(stream)
            if values is value:
                named = [*values[: dashes[0]], named, *values[dashes[0] + 1 :]]
            ctx.params[param.name] = named
        if streams.get("/dev/stdout") == "--alignments" and ctx.params.get("out") is None:
            raise ConfigError(
                "--alignments is `-`, but translations go to standard output, too.",
                "Write them into a file with --out.",
            )

    def _is_usual(self, name: str) -> bool:
        """Return True if a command uses the standard stream without this parameter."""
        return name == "FILE" or (self.name == "translate" and name == "--out")

    def _stream(self, name: str) -> str | None:
        """Return the standard stream that `-` means for this parameter; None if it is a text."""
        if name in _TEXT_OPTIONS and ("--set" in self._options() or "valid" in name):
            raise ConfigError(
                f"{name} is `-`, but this text is read more than once.",
                "Write it into a file, and name that.",
            )
        reads = name in _INPUTS and self.name != "inspect"  # whose arguments are sentences
        if not reads and name not in _OUTPUTS:
            return None
        if sys.platform == "win32" and not self._is_usual(name):
            raise ConfigError(
                f"{name} is `-`, but no file of Windows is a standard stream.", "Name a file."
            )
        if reads:
            return "/dev/stdin"
        if name == "--out" and self.name not in _WRITE_LINES:
            raise ConfigError("--out is `-`, but it names a file or folder here.", "Choose a name.")
        return "/dev/stdout"


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    """Make a ConfigError of an error of Click about the call."""
    try:
        yield
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # no error: it prints the help
            raise
        raise _config_error(error) from None


def _config_error(error: Any) -> ConfigError:
    """Return the error for an error of Click without a hint."""
    message, param = error.message or "", getattr(error, "param", None)
    help_page = f"See {' '.join(['headway', *_words(error.ctx)])} --help." if error.ctx else ""
    if param is None:  # the error of a command itself says what to do
        by_command = type(error) is typer.BadParameter
        return ConfigError(f"{message.rstrip('.')}.", "" if by_command else help_page)
    name = param.opts[0] if param.opts[0][0] == "-" else param.name.upper()
    if type(error).__name__ == "MissingParameter":
        return ConfigError(f"{name} is missing.", help_page)
    return ConfigError(f"{name}: {message.rstrip('.')}.", help_page)


def _words(ctx: Any) -> list[str]:
    """Return the names of a command, such as bench and train; none for the table of commands."""
    words = []
    while ctx.parent:
        words.insert(0, ctx.info_name)
        ctx = ctx.parent
    return words


def _like_a_file(text: str) -> bool:
    """Return True for the name of a file, as far as a name can tell: a word with an extension."""
    return bool(Path(text).suffix) and " " not in text


def _key(option: str) -> str:
    return option.lstrip("-").replace("-", "_")


def _flat(value: Any) -> list[str]:
    if isinstance(value, (list, tuple)):
        return [str(item) for item in value if item is not None]
    return [value] if isinstance(value, str) else []


def _at_home(paths: Any) -> Any:
    """Return a value; in a path or several, `~` becomes the user's folder."""
    if isinstance(paths, (list, tuple)):
        return type(paths)(_at_home(path) for path in paths)
    return expanded(paths) if isinstance(paths, Path) else paths


def _setting(wanted: str) -> str:
    """Return the setting, `section.name`, that a word is or nearly is, or an empty text."""
    from headway.config.run import RunConfig

    name = wanted.replace("-", "_")
    name = _OTHER_SETTINGS.get(name, name)
    known = {
        field: f"{section}.{field}"
        for section, default in RunConfig()
        if section != "recipe"
        for field in type(default).model_fields
    }
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.85)
    return known[near[0]] if near else ""
