"""Remarks on targets that normalization rewrites, because the model never writes them as given."""

from collections.abc import Sequence
from itertools import chain, islice

from headway.config.run import RunConfig
from headway.data.cleaning import CleaningReport
from headway.data.corpus import Pair
from headway.data.pair_rules import REWRITTEN_NOTE
from headway.data.rewriting import rewritten
from headway.data.tokenizer import Tokenizer
from headway.training.texts import Texts

_LOOKED_AT = 100_000  # training pairs, for examples
_MANY = 0.01  # share of targets; with more the remark begins with "Attention"


def rewritten_remarks(
    config: RunConfig, texts: Texts, report: CleaningReport, target: Tokenizer
) -> list[str]:
    """Return a remark for the beginning of a run: number of targets, examples, remedy.

    report: of cleaning the training text, which has counted them.
    """
    counts = [n for note, n in report.notes.items() if note.endswith(REWRITTEN_NOTE)]
    valid = rewritten((pair.target for pair in texts.valid), target.normalize)
    if not (counts or valid.count):
        return []
    targets = (pair.target for pair in islice(chain.from_iterable(texts.corpora), _LOOKED_AT))
    sample = rewritten(targets, target.normalize) if counts else valid
    share = sum(counts) / max(1, report.kept)
    first = "Attention: " if share >= _MANY else ""
    parts = [f"{sum(counts):,} of {report.kept:,} training targets ({share:.1%})"]
    if valid.count:
        parts.append(f"{valid.count:,} of {len(texts.valid):,} validation references")
    examples = f": {sample}" if sample.examples else ""
    return [
        f"{first}{_cause(config)} rewrites {' and '.join(parts)}{examples}. The model learns, and "
        "will write, only the rewritten text, so scores against such references are too low. "
        f"If these characters matter, {_remedy(config)}."
    ]


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
