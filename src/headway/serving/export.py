"""Write a traced sentence as one HTML page, into a file or into a notebook."""

from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headway.errors import ConfigError, MissingExtraError, ServingError
from headway.home import expanded
from headway.inspection.trace import Trace
from headway.inspection.translator import Translator
from headway.runtime.atomic_files import write_atomically, writing
from headway.serving.page_file import MAX_BYTES

_NOTEBOOK_BYTES = 4_000_000  # a notebook is kept with all its outputs
_HEIGHT = 900


def write_page(
    translator: Translator,
    trace: Trace,
    path: str | Path,
    *,
    state: str = "#/attention",
    model: str | None = None,
    max_bytes: int = MAX_BYTES,
) -> None:
    """Write the explorer with this sentence as one HTML file, which opens without a server.

    translator: the translator that made the trace. state: the address to open, the part after `#`
    in the browser's address bar. model: the argument for `headway.load` in the page's Python.
    max_bytes: most bytes of tensors; the least needed ones are left out, and the page names them.
    Raises MissingExtraError without the extra `serve`, and ConfigError for another kind of file, a
    trace that is not of a sentence, or one with edits.
    """
    if Path(path).suffix not in (".html", ".htm"):
        raise ConfigError(f"{path} is not the name of a page.", "Let it end in .html.")
    html = _html(translator, trace, state, model, max_bytes, in_frame=False)
    remedy = "Choose another place, or free some space."
    with writing(f"The page {path}", ServingError, remedy):
        write_atomically(expanded(path), html.encode())


@dataclass(frozen=True, slots=True, repr=False)
class Shown:
    """A trace in a notebook: the explorer, and a picture where scripts are forbidden."""

    trace: Trace
    html: str
    height: int

    def __repr__(self) -> str:
        """Return the text of the trace."""
        return repr(self.trace)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return text, picture and page; a notebook shows the last one that it can."""
        frame = (
            f'<iframe srcdoc="{escape(self.html)}" style="width: 100%; height: {self.height}px; '
            f'border: 0" title="Headway"></iframe>'
        )
        bundle = {"text/plain": repr(self), "text/html": frame}
        picture = _picture(self.trace)
        return bundle if picture is None else {**bundle, "image/svg+xml": picture}


def show(
    translator: Translator,
    trace: Trace,
    *,
    state: str = "#/attention",
    model: str | None = None,
    height: int = _HEIGHT,
    max_bytes: int = _NOTEBOOK_BYTES,
) -> Shown:
    """Return the explorer with this sentence, to be the last line of a notebook's cell.

    The page is saved in the notebook, isolated in an <iframe>, so it works offline and for later
    readers. Where scripts are forbidden, a picture of cross-attention replaces it. Arguments and
    errors are those of `write_page`.
    """
    return Shown(trace, _html(translator, trace, state, model, max_bytes, in_frame=True), height)


def _html(
    translator: Translator,
    trace: Trace,
    state: str,
    model: str | None,
    max_bytes: int,
    *,
    in_frame: bool,
) -> str:
    if trace.sentence is None:
        raise ConfigError(
            "The trace describes a module, not a sentence.", "Make it with `translator.trace`."
        )
    if trace.edits:
        raise ConfigError(
            "The trace has edits, but a page in one file shows the unedited model.",
            "Trace without edits; the screen 'What if' of `headway serve` shows what they change.",
        )
    try:
        import fastapi  # noqa: F401
        import latex2mathml  # noqa: F401
    except ImportError as error:
        raise MissingExtraError.of("serve", f"The page needs {error.name}.") from error
    from headway.serving.addresses import read_address
    from headway.serving.models import Explorer, Served
    from headway.serving.offline_answers import collect
    from headway.serving.page_file import page_html
    from headway.serving.traces import StoredTrace

    bundle = translator.bundle
    name = str(bundle.record.get("name") or f"{bundle.source_language} → {bundle.target_language}")
    path = model or "path/to/the/model"
    served = Served(name, translator, checksum="", path=path)
    explorer = Explorer([served])
    stored = StoredTrace("0", served, trace)
    explorer.traces.put(stored)
    answers = collect(explorer, stored, read_address(state), max_bytes)
    return page_html(answers, in_frame=in_frame)


def _picture(trace: Trace) -> str | None:
    from headway.inspection.figures import trace_attention

    with TemporaryDirectory() as folder:
        path = Path(folder) / "attention.svg"
        try:
            trace_attention(trace, path)
        except MissingExtraError:
            return None
        return path.read_text("utf-8")
