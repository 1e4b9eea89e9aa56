"""What a run says of its text before its first step: sides that are moved, exchanged or foreign."""

from collections.abc import Iterable, Iterator

from headway.data.exchanged import exchanged_as_a_whole, on_the_wrong_side
from headway.data.form import Form
from headway.data.survey import Scripts, main_scripts, misalignments, other_scripts
from headway.data.two_languages import TwoLanguages
from headway.training.diagnosis import TrainingProblem
from headway.training.text_check import Looked

_NAMED = 3  # stretches
_FEWEST = 3  # lines that are worth a word
_EXCHANGED_SHARE, _WRONG_SHARE = 0.001, 0.01  # of all lines


def suspicious_findings(
    texts: Iterable[Looked], *, drops_exchanged: bool = False
) -> Iterator[TrainingProblem]:
    """Look for targets of other sources, and for sides in another language or script than usual.

    Usual is the first text with the same tag, which is training text. drops_exchanged: whether
    training leaves exchanged lines out, so that nothing need be said of them.
    """
    usual: dict[str, tuple[Scripts, TwoLanguages | None, Form]] = {}
    for text in texts:
        yield from _misaligned(text)
        if text.tag in usual:
            unlike = list(_unlike(text, *usual[text.tag][:2]))
            yield from unlike
        else:
            pairs = text.pairs
            usual[text.tag] = main_scripts(pairs), TwoLanguages.of(pairs), Form(pairs)
            unlike = []
        if not unlike:
            languages = usual[text.tag][1]
            yield from _on_the_wrong_side(text, languages, drops_exchanged)
            if not _is_trained_on(text):
                yield from _of_other_form(text, usual[text.tag][2])


def _misaligned(text: Looked) -> Iterator[TrainingProblem]:
    if stretches := misalignments(text.pairs):
        more = f", and {len(stretches) - _NAMED} more" if len(stretches) > _NAMED else ""
        yield TrainingProblem(
            f"misaligned text, {text.name}",
            f"{_head(text)} {'; '.join(map(str, stretches[:_NAMED]))}{more}. "
            f"Compare the files there: {_harm(text)}.",
        )


def _unlike(
    text: Looked, scripts: Scripts, languages: TwoLanguages | None
) -> Iterator[TrainingProblem]:
    """Say that a whole text is unlike the usual one."""
    if exchanged := exchanged_as_a_whole(text.pairs, languages):
        yield TrainingProblem(
            f"exchanged sides, {text.name}",
            f"{_head(text)} {exchanged[0]}. Exchange the names of the two files of this text, or "
            f"of the training text: {_harm(text)}.",
        )
    elif others := other_scripts(scripts, text.pairs):
        yield TrainingProblem(
            f"other script, {text.name}",
            f"{_head(text)} {'; '.join(map(str, others))}. Make sure that these are the right "
            "files, and that source and target are not exchanged.",
        )


def _on_the_wrong_side(
    text: Looked, languages: TwoLanguages | None, drops_exchanged: bool
) -> Iterator[TrainingProblem]:
    """Name lines whose sides are exchanged or in one language, if there are more than by chance."""
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


def _of_other_form(text: Looked, usual: Form) -> Iterator[TrainingProblem]:
    if others := usual.unlike(text.pairs):
        problems = "; ".join(other.problem for other in others)
        yield TrainingProblem(
            f"other form, {text.name}",
            f"{_head(text)} {problems}. Scores are too low where the model has not met such text: "
            "give both texts one form.",
        )


def _head(text: Looked) -> str:
    return f"{text.name.capitalize()} text:"


def _harm(text: Looked) -> str:
    if _is_trained_on(text):
        return "the model learns wrong translations from such lines"
    return "such lines make scores too low"


def _is_trained_on(text: Looked) -> bool:
    return text.name.startswith("training")
