"""Problems of the text of a run, found before its first step.

Sides out of step, exchanged or in another language; pieces that the vocabulary lacks; validation
text that is tokenized already.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from types import MappingProxyType

from headway.config.data import DataConfig
from headway.config.evaluation import EvaluationConfig
from headway.config.run import RunConfig
from headway.data.corpus import Pair
from headway.data.exchanged import exchanged_as_a_whole, on_the_wrong_side
from headway.data.finding import on_lines
from headway.data.form import Form
from headway.data.headers import USUAL_FIELDS
from headway.data.survey import (
    Scripts,
    main_scripts,
    misalignments,
    other_languages,
    other_scripts,
    unrelated,
)
from headway.data.tokenizer import UNK_ID
from headway.data.trained_direction import TrainedDirection
from headway.data.two_languages import TwoLanguages
from headway.data.word_links import are_of_other_sources, to_learn_from
from headway.evaluation.metrics import tokenized_remark
from headway.training.diagnosis import TrainingProblem
from headway.training.prepare import PreparedRun
from headway.training.text_check import LOOKED_AT, TextToCheck, is_held_out, texts_to_check
from headway.training.text_statistics import Pairs, piece_counts
from headway.training.texts import Texts, untag

_NAMED = 3  # stretches
_FEWEST = 3  # lines that are reported
_EXCHANGED_SHARE, _WRONG_SHARE = 0.001, 0.01  # of all lines
_UNKNOWN_SHARE = 0.01  # of the pieces of a side
_COMPARED = 100_000  # pairs of each text, in about eight seconds


def text_findings(
    prepared: PreparedRun, compares: bool, direction: TrainedDirection | None = None
) -> list[TrainingProblem]:
    """Return the problems of a run's text; its sides are compared if `compares`.

    direction: of the model that training starts from.
    """
    config, texts, encoded = prepared.config, prepared.texts, prepared.encoded
    looked = texts_to_check(config.data, texts, _COMPARED) if compares else ()
    compared = (text for text in looked if not is_held_out(text.name, texts))
    return [
        *(trained_on_findings(config.data, texts) if compares else ()),
        *suspicious_findings(
            compared,
            drops_exchanged=config.data.drop_exchanged,
            languages={config.data.tag: config.data.languages},
            direction=direction,
        ),
        *unknown_findings({"training": encoded.train, "validation": encoded.valid}, config),
        *tokenized_finding([pair.target for pair in texts.valid], config.evaluation),
    ]


def trained_on_findings(data: DataConfig, texts: Texts) -> Iterator[TrainingProblem]:
    """Find validation and test text that is in the first million training pairs too."""
    held_out = {"test": texts.test}
    if texts.valid_lines is None:
        held_out = {"validation": texts.valid} | held_out
    compared = {
        name: [pair.comparable() for pair in untag(data.tag, pairs)]
        for name, pairs in held_out.items()
    }
    training_pairs = {pair for pairs in compared.values() for pair in pairs if all(pair)}
    train = islice(chain.from_iterable(texts.corpora), LOOKED_AT if training_pairs else 0)
    shared = training_pairs.intersection(pair.comparable() for pair in train)
    for name, pairs in compared.items():
        lines = [line for line, pair in enumerate(pairs, start=1) if pair in shared]
        if lines:
            finding = on_lines("in-training", "pair is in the training text too", lines)
            yield TrainingProblem(
                f"trained on, {name}",
                f"{name.capitalize()} text: {finding}. Its scores are too good. `headway clean "
                "--valid-source … --valid-target …` takes such pairs out of the training text, and "
                "`headway check` prints the whole command.",
            )


def suspicious_findings(
    texts: Iterable[TextToCheck],
    *,
    drops_exchanged: bool = False,
    languages: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    direction: TrainedDirection | None = None,
) -> Iterator[TrainingProblem]:
    """Find targets of other sources, and sides in an unusual language or script.

    The first text with the same tag, which is training text, is the usual one. drops_exchanged:
    training drops exchanged lines, so they are not reported. languages: those of source and target,
    by tag; the usual text should be in their scripts. direction: of the model that training starts
    from, which the usual text of these tags should have.
    """
    usual: dict[str, tuple[Scripts, TwoLanguages | None, Form]] = {}
    learned_from: dict[str, list[Pair]] = {}
    for text in texts:
        misaligned = list(_misaligned(text))
        yield from misaligned
        if text.tag in usual:
            unlike = list(_unlike(text, *usual[text.tag][:2]))
            yield from unlike
        else:
            pairs = text.pairs
            named = languages.get(text.tag, USUAL_FIELDS)
            starts = direction if text.tag in languages else None
            yield from _in_other_languages(text, named, starts)
            usual[text.tag] = main_scripts(pairs), TwoLanguages.of(pairs), Form(pairs)
            learned_from[text.tag] = to_learn_from(pairs)
            unlike = []
        if not unlike:
            yield from _on_the_wrong_side(text, usual[text.tag][1], drops_exchanged)
            if not _is_trained_on(text):
                yield from _of_other_form(text, usual[text.tag][2])
                if not misaligned:
                    yield from _of_other_sources(text, learned_from[text.tag])


def _misaligned(text: TextToCheck) -> Iterator[TrainingProblem]:
    if stretches := misalignments(text.pairs):
        more = f", and {len(stretches) - _NAMED} more" if len(stretches) > _NAMED else ""
        yield TrainingProblem(
            f"misaligned text, {text.name}",
            f"{_head(text)} {'; '.join(map(str, stretches[:_NAMED]))}{more}. "
            f"Compare the files there: {_harm(text)}.",
        )


def _of_other_sources(text: TextToCheck, train: Sequence[Pair]) -> Iterator[TrainingProblem]:
    if are_of_other_sources(text.pairs, train):
        yield TrainingProblem(
            f"misaligned text, {text.name}",
            f"{_head(text)} {unrelated(len(text.pairs))}. Compare the files: {_harm(text)}.",
        )


def _in_other_languages(
    text: TextToCheck, languages: tuple[str, str], direction: TrainedDirection | None
) -> Iterator[TrainingProblem]:
    """Find a text that is unlike the model it starts from, or unlike its names or settings."""
    if starts := direction.findings(text.pairs, languages) if direction else []:
        remedy = starts[0].remedy
        message = f"{_head(text)} {'; '.join(map(str, starts))}. {remedy[0].upper()}{remedy[1:]}."
        if starts[0].id == "other-direction":
            yield TrainingProblem(f"exchanged sides, {text.name}", message)
        else:
            yield TrainingProblem(f"new script, {text.name}", message)
    elif problems := other_languages(languages, text.pairs):
        described = "; ".join(problem.problem for problem in problems)
        yield TrainingProblem(
            f"other language, {text.name}",
            f"{_head(text)} {described}. The model would be named after the wrong languages: "
            f"{problems[0].remedy}.",
        )


def _unlike(
    text: TextToCheck, scripts: Scripts, languages: TwoLanguages | None
) -> Iterator[TrainingProblem]:
    """Find a text that as a whole is unlike the usual one."""
    if exchanged := exchanged_as_a_whole(text.pairs, languages):
        yield TrainingProblem(
            f"exchanged sides, {text.name}",
            f"{_head(text)} {exchanged[0]}. Exchange the names of the two files of this text, or "
            f"of the training text: {_harm(text)}.",
        )
    elif problems := other_scripts(scripts, text.pairs):
        yield TrainingProblem(
            f"other script, {text.name}",
            f"{_head(text)} {'; '.join(map(str, problems))}. Make sure that these are the right "
            "files, and that source and target are not exchanged.",
        )


def _on_the_wrong_side(
    text: TextToCheck, languages: TwoLanguages | None, drops_exchanged: bool
) -> Iterator[TrainingProblem]:
    """Find lines whose sides are exchanged or in one language, if they are more than by chance."""
    for problem in on_the_wrong_side(text.pairs, languages):
        is_exchanged = problem.id == "exchanged"
        share = _EXCHANGED_SHARE if is_exchanged else _WRONG_SHARE
        if problem.count < max(_FEWEST, share * len(text.pairs)):
            continue
        if not is_exchanged:
            yield TrainingProblem(
                f"wrong language, {text.name}",
                f"{_head(text)} {problem}. Look at these lines, or drop them with `headway clean "
                f"--drop {problem.id}`: {_harm(text)}.",
            )
        elif not (drops_exchanged and _is_trained_on(text)):
            setting = "Set data.drop_exchanged=true, or exchange" if _is_trained_on(text) else ""
            yield TrainingProblem(
                f"exchanged sides, {text.name}",
                f"{_head(text)} {problem}. {setting or 'Exchange'} them with `headway clean "
                f"--fix exchanged`: {_harm(text)}.",
            )


def _of_other_form(text: TextToCheck, usual: Form) -> Iterator[TrainingProblem]:
    if differences := usual.unlike(text.pairs):
        problems = "; ".join(difference.problem for difference in differences)
        yield TrainingProblem(
            f"other form, {text.name}",
            f"{_head(text)} {problems}. Scores are too low where the model has not met such text: "
            "give both texts one form.",
        )


def _head(text: TextToCheck) -> str:
    return f"{text.name.capitalize()} text:"


def _harm(text: TextToCheck) -> str:
    if _is_trained_on(text):
        return "the model learns wrong translations from such lines"
    return "such lines make scores too low"


def _is_trained_on(text: TextToCheck) -> bool:
    return text.name.startswith("training")


def unknown_findings(texts: dict[str, Pairs], config: RunConfig) -> Iterator[TrainingProblem]:
    """Find sides of texts with too many unknown pieces."""
    remedy = _more_pieces(config)
    for name, pairs in texts.items():
        for side in ("source", "target"):
            counts = piece_counts(pairs, side, UNK_ID + 1)
            yield from _unknown_pieces(name, side, int(counts[UNK_ID]), int(counts.sum()), remedy)


def _more_pieces(config: RunConfig) -> str:
    """Return a remedy for unknown pieces that the configuration does not use yet."""
    tokenizer = config.tokenizer
    if config.training.start_from or tokenizer.source_model:
        return "add them by tokenizer.new_pieces, or train a tokenizer on this text"
    remedies = {
        "raise tokenizer.character_coverage to 1.0": tokenizer.character_coverage < 1,
        "set tokenizer.byte_fallback=true": not tokenizer.byte_fallback,
        "raise tokenizer.vocabulary_size": tokenizer.kind == "word",
    }
    return ", or ".join(remedy for remedy, helps in remedies.items() if helps) or (
        "clean the text of the characters that no tokenizer keeps"
    )


def tokenized_finding(
    references: Sequence[str], evaluation: EvaluationConfig
) -> Iterator[TrainingProblem]:
    """Find validation text that seems tokenized already, and that BLEU would tokenize again."""
    remark = tokenized_remark(references, evaluation.bleu_tokenize)
    if remark and "bleu" in evaluation.metrics:
        yield TrainingProblem(
            "tokenized text", f"Validation text: {remark} Set evaluation.bleu_tokenize."
        )


def _unknown_pieces(
    text: str, side: str, unknown: int, pieces: int, remedy: str
) -> Iterator[TrainingProblem]:
    """Find a text with more than one unknown piece in a hundred."""
    if unknown <= _UNKNOWN_SHARE * pieces:
        return
    yield TrainingProblem(
        f"unknown pieces, {text} {side}",
        f"{unknown / pieces:.1%} of the tokens of the {text} text's {side} ({unknown:,} of "
        f"{pieces:,}) are unknown to the vocabulary, so the model cannot read or write them. In "
        f"another run: {remedy}.",
    )
