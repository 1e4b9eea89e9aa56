"""The public Translator, which `headway.load` returns.

It adds `trace` to the translator of `headway.decoding`, which must not import inspection.
"""

from collections.abc import Sequence
from pathlib import Path

from headway.decoding import translator as decoding
from headway.decoding.options import SearchOptions
from headway.errors import warn
from headway.inspection.edit import Edits
from headway.inspection.one_sentence import MAX_BYTES, trace_sentence
from headway.inspection.trace import Trace
from headway.saved_bundle import unfinished_weights


class Translator(decoding.TextTranslator):
    """Translate text with a bundle, or with several of one vocabulary, and look inside."""

    @classmethod
    def _remark_on(cls, *paths: str | Path) -> None:
        """Warn of runs that are not finished."""
        for path in paths:
            if words := unfinished_weights(path):
                warn(words)

    def trace(
        self,
        source: str,
        target: str | Sequence[str] | None = None,
        *,
        edit: Edits | None = None,
        max_bytes: int = MAX_BYTES,
        options: SearchOptions | None = None,
        prefix: str | None = None,
        record: str | Sequence[str] = "all",
    ) -> Trace:
        """Return every intermediate of one sentence, by name, with its axes and pieces.

        It is one teacher-forced pass of the model itself, in its own precision, over the target.
        The target is a text, or pieces such as `translation.pieces`. Without one, it is the
        translation that the search finds, even if it runs away; `options` and `prefix` work as in
        `translate`. The axis of the batch is hidden.

        edit: changes of this one pass, by name (`headway.inspection.edit`). The target is that of
        the model without edits, so that two traces can be compared row by row. record: `all`,
        `attention`, `residual`, or globs of names. max_bytes: a larger trace is refused beforehand.

        A text is searched as one sentence. A HeadwayWarning says if `translate` would translate
        its sentences separately, because one search may leave some of them out.

        Raises ConfigError for a blank sentence, one of several parts, and an ensemble; TraceError
        for names and edits that the model does not have.
        """
        seen = trace_sentence(
            self,
            source,
            target,
            edit=edit,
            max_bytes=max_bytes,
            options=options,
            prefix=prefix,
            record=record,
        )
        if target is None and (count := self.requests.count_sentences(source)) > 1:
            warn(
                f"The text has {count} sentences, which translate takes one by one. A trace "
                "describes one search, which may leave some of them out. Trace the sentences "
                "one by one."
            )
        return seen


load = Translator.load
