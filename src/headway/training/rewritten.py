"""Remarks on targets that the model never writes as given.

Normalization rewrites some of their characters, or composes them.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from headway.config.run import RunConfig
from headway.data.cleaning import CleaningReport
from headway.data.composition import differ_in_form, is_decomposed
from headway.data.corpus import Pair
from headway.data.pair_rules import REWRITTEN_NOTE
from headway.data.rewriting import changes, in_words, rewritten
from headway.data.tokenizer import Tokenizer
from headway.evaluation.doubts import COMPOSE
from headway.training.texts import Texts

_LOOKED_AT = 1_000_000  # training pairs whose characters are named
_COMPARED = 10_000  # training targets whose Unicode form is compared
_MANY = 0.01  # share of targets; with more the remark begins with "Attention"


def rewritten_remarks(
    config: RunConfig, texts: Texts, report: CleaningReport, target: Tokenizer
) -> list[str]:
    """Return remarks for the beginning of a run: number of targets, their characters, remedy.

    report: of cleaning the training text, which has counted them.
    """
    return [*_on_characters(config, texts, report, target), *_on_forms(texts, target)]


def _on_characters(
    config: RunConfig, texts: Texts, report: CleaningReport, target: Tokenizer
) -> list[str]:
    counts = [n for note, n in report.notes.items() if note.endswith(REWRITTEN_NOTE)]
    valid = rewritten((pair.target for pair in texts.valid), target.normalize)
    if not (counts or valid.count):
        return []
    in_training = changes(_targets(texts, _LOOKED_AT), target.normalize) if counts else []
    share = sum(counts) / max(1, report.kept)
    first = "Attention: " if share >= _MANY else ""
    listed = f"; {in_words(in_training)}" if in_training else ""
    parts = [f"{sum(counts):,} of {report.kept:,} training targets ({share:.1%}{listed})"]
    if valid.count:
        listed = f" ({valid})" if valid.changes else ""
        parts.append(f"{valid.count:,} of {len(texts.valid):,} validation references{listed}")
    return [
        f"{first}{_cause(config)} rewrites {' and '.join(parts)}. The model learns, and "
        "will write, only the rewritten text, so scores against such references are too low. "
        f"If these characters matter, {_remedy(config)}."
    ]


def _on_forms(texts: Texts, target: Tokenizer) -> list[str]:
    """Return a remark on each text whose references are in another Unicode form than the model's.

    The model writes as normalization does; if that keeps both forms, then as in training text.
    """
    remarks = []
    for name, pairs in (("validation", texts.valid), ("test", texts.test)):
        decomposed = [pair.target for pair in pairs if is_decomposed(pair.target)]
        normalized = map(target.normalize, decomposed)
        if decomposed and (
            differ_in_form(decomposed, normalized)
            or differ_in_form(decomposed, _targets(texts, _COMPARED))
        ):
            remarks.append(
                f"{len(decomposed):,} of {len(pairs):,} {name} references "
                f"{'is' if len(decomposed) == 1 else 'are'} not in Unicode's composed form (NFC), "
                "in which the model will write. Characters that look the same "
                f"count as different, and scores are too low. {COMPOSE}"
            )
    return remarks


def _targets(texts: Texts, most: int) -> Iterator[str]:
    """Yield the first training targets."""
    return (pair.target for pair in islice(chain.from_iterable(texts.corpora), most))


def references_remark(name: str, pairs: Sequence[Pair], target: Tokenizer) -> str:
    """Return why scores on this text are too low, or "" if no reference is rewritten."""
    count = rewritten((pair.target for pair in pairs), target.normalize).count
    if not count:
        return ""
    return (
        f"{name}: {count:,} of {len(pairs):,} references hold characters that the tokenizer's "
        "normalization rewrites. They are scored as they are, and no translation equals them."
    )


def _cause(config: RunConfig) -> str:
    if _is_given(config):
        return "The normalization of the given tokenizer"
    return f"tokenizer.normalization = {config.tokenizer.normalization}"


def _remedy(config: RunConfig) -> str:
    if _is_given(config):
        return "train a tokenizer with normalization=identity"
    return "keep them: --set tokenizer.normalization=identity"


def _is_given(config: RunConfig) -> bool:
    """Return True if the target's tokenizer is not trained by this run."""
    tokenizer = config.tokenizer
    named = tokenizer.source_model if tokenizer.joint else tokenizer.target_model
    return bool(config.training.start_from or named)
