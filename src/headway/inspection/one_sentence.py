"""The trace of one sentence: a teacher-forced pass over a finished translation.

Nothing is recorded during the search, whose beams would mix in discarded hypotheses. A pass over
the finished translation computes the same numbers, all positions at once.
"""

from collections.abc import Iterable, Sequence
from numbers import Real

import torch

from headway.bundle import Bundle
from headway.data.tokenizer import END_ID, START_ID
from headway.decoding.options import SearchOptions
from headway.decoding.tags import tag_before
from headway.decoding.translator import TextTranslator, only_bundle
from headway.errors import ConfigError, TraceError, require_type, suggest
from headway.inspection.catalog import ALL_NAMES, matching, model_names
from headway.inspection.edit import Edits, check_edits
from headway.inspection.model_kind import variant_of
from headway.inspection.sentence import TracedSentence
from headway.inspection.sizes import tensor_bytes
from headway.inspection.trace import PRESETS, Trace, record_patterns, trace

MAX_BYTES = 2 * 10**9
"""The default of `max_bytes`, the largest size of a trace."""


def trace_sentence(
    translator: TextTranslator,
    source: str,
    target: str | Sequence[str] | None = None,
    *,
    edit: Edits | None = None,
    max_bytes: int = MAX_BYTES,
    options: SearchOptions | None = None,
    prefix: str | None = None,
    record: str | Sequence[str] = "all",
) -> Trace:
    """Return the trace of one sentence with a translation; see `Translator.trace`."""
    bundle = _only_bundle(translator)
    if not isinstance(source, str):
        raise ConfigError(
            f"The sentence is of type {type(source).__name__}, not text.",
            "A trace describes one sentence: give a string.",
        )
    parts = translator.requests.parts(source)
    if len(parts) != 1:
        raise ConfigError(
            f"The sentence has {len(parts)} parts, but a trace describes one.",
            "Give one sentence that the model can take whole."
            if parts
            else "Give a sentence that is not blank.",
        )
    variant = variant_of(bundle.model)
    names = model_names(bundle.model, variant)
    check_edits(edit or {}, names, model_names(bundle.model, variant, derived=True))
    target_ids = _target_ids(translator, source, target, options, prefix)
    read = f"{tag_before(bundle, source)} {source}".removeprefix(" ")
    sentence = _sentence(bundle, read, parts[0].ids, target_ids)
    _check_size(bundle, sentence, _recorded(names, record), max_bytes)
    device = translator.device
    with torch.no_grad(), trace(bundle.model, record=record, edit=edit, sentence=sentence) as seen:
        bundle.model(
            torch.tensor([sentence.source_ids], device=device),
            torch.tensor([sentence.target_ids], device=device),
        )
    return seen


def _only_bundle(translator: TextTranslator) -> Bundle:
    bundle = only_bundle(translator, "A trace")
    if bundle.model.training:
        raise TraceError(
            "The model is in training mode, where dropout makes every pass different.",
            "Call its eval() first.",
        )
    return bundle


def _target_ids(
    translator: TextTranslator,
    source: str,
    target: str | Sequence[str] | None,
    options: SearchOptions | None,
    prefix: str | None,
) -> list[int]:
    """Return the pieces of the given target, or else those that the search finds."""
    if target is None:
        translation = translator.translate(
            source,
            mend_runaways=False,
            options=options,
            prefix=prefix,
            split_sentences=False,
        )
        return translator.requests.target_ids(translation.pieces)
    if options is not None or prefix is not None:
        raise ConfigError(
            "A target is given, so there is nothing to search for.",
            "Leave out options and prefix, or the target.",
        )
    if isinstance(target, str):
        tokenizer = translator.bundle.target_tokenizer
        target = tokenizer.pieces(tokenizer.encode(target))
    remedy = "Give a text, or tokens as `translation.pieces` has them."
    require_type("target", target, Iterable, remedy)
    return translator.requests.text_ids(target)


def _sentence(
    bundle: Bundle, source: str, source_ids: Sequence[int], target_ids: Sequence[int]
) -> TracedSentence:
    tokenizer = bundle.target_tokenizer
    reads, writes = (START_ID, *target_ids), (*target_ids, END_ID)
    # A model may have more rows than its tokenizer has pieces.
    known = range(tokenizer.vocabulary_size)
    unnamed = range(tokenizer.vocabulary_size, bundle.config.target_vocab_size)
    return TracedSentence(
        source=source,
        target=tokenizer.decode(target_ids),
        source_ids=(*source_ids, END_ID),
        target_ids=reads,
        label_ids=writes,
        source_pieces=tuple(bundle.source_tokenizer.pieces([*source_ids, END_ID])),
        reads=tuple(tokenizer.pieces(reads)),
        writes=tuple(tokenizer.pieces(writes)),
        vocabulary=(*tokenizer.pieces(known), *(f"<piece {number}>" for number in unnamed)),
    )


def _recorded(names: Sequence[str], record: str | Sequence[str]) -> list[str]:
    """Return the names that will be recorded; TraceError for a glob that matches nothing."""
    chosen: dict[str, None] = {}
    for pattern in record_patterns(record):
        matches = matching(names, pattern)
        if not matches:
            hint = suggest(pattern, [*PRESETS, *names], ALL_NAMES)
            raise TraceError(f"No pass has '{pattern}'.", hint)
        chosen.update(dict.fromkeys(matches))
    return list(chosen)


def _check_size(
    bundle: Bundle, sentence: TracedSentence, names: Sequence[str], max_bytes: int
) -> None:
    """Raise ConfigError for a trace that would take too much memory."""
    require_type("max_bytes", max_bytes, Real, "Give a number of bytes.")
    source, target = len(sentence.source_ids), len(sentence.target_ids)
    sizes = tensor_bytes(bundle.model, source, target)
    total = sum(sizes[name] for name in names)
    if total > max_bytes:
        raise ConfigError(
            f"The trace of {source} and {target} tokens may take {total:,} bytes, but "
            f"max_bytes is {max_bytes:,}.",
            "Record less, such as record='attention', or raise max_bytes.",
        )
