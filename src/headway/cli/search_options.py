"""Options of `translate` for the search, and how they change a model's own options."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from headway.decoding.options import SearchOptions

AsText = Annotated[
    bool,
    typer.Option(
        "--as-text", help="Translate the lines of HTML, subtitles and similar files as they are."
    ),
]
Alignments = Annotated[
    Path | None,
    typer.Option("--alignments", help="File to write word alignments to, in the form 0-0 1-2."),
]
AttentionLayer = Annotated[
    int | None,
    typer.Option(
        "--attention-layer",
        help="Decoder layer, counted from 0, for alignments and coverage; default: the last.",
    ),
]
Ban = Annotated[
    list[str] | None,
    typer.Option("--ban", help="Text that must not occur; may be given several times."),
]
BatchTokens = Annotated[
    int,
    typer.Option(
        min=1, help="Source tokens translated at the same time; affects speed and memory."
    ),
]
CoveragePenalty = Annotated[
    float | None,
    typer.Option(
        "--coverage-penalty",
        help="beta: lowers the score of a translation that leaves out some of its source.",
    ),
]
Diversity = Annotated[
    float | None,
    typer.Option(
        "--diversity",
        help="Penalty of a token for each hypothesis of an earlier group with it; default: 0.5.",
    ),
]
Ensemble = Annotated[
    list[Path] | None,
    typer.Option("--ensemble", help="Another model with the same vocabulary; several are allowed."),
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="auto|packed|reference",
        help="Implementation; auto: packed, unless a changed model needs reference.",
    ),
]
Glossary = Annotated[
    Path | None,
    typer.Option(
        "--glossary",
        help="Source terms and their translations, with a tab between; term* matches any ending.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="text|html|srt|po|md|docx",
        help="Translate the text of a document, and leave everything else as it is.",
    ),
]
Groups = Annotated[
    int | None,
    typer.Option(
        "--groups", help="Divide the beam into this many groups that avoid each other's choices."
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep", help="Text of a document that stays as it is; may be given several times."
    ),
]
KeepRunaways = Annotated[
    bool,
    typer.Option(
        "--keep-runaways",
        help="Keep translations that repeat themselves or are far too long; do not search again.",
    ),
]
LowerCapitals = Annotated[
    bool,
    typer.Option(
        "--lower-capitals/--leave-capitals",
        help="Translate sentences in capitals in lower case, and write their translations in "
        "capitals; or translate them as they are.",
    ),
]
LengthForm = Annotated[
    str | None,
    typer.Option("--length-form", metavar="gnmt|plain", help="((5 + |Y|) / 6)^alpha or |Y|^alpha."),
]
MaxLength = Annotated[
    int | None, typer.Option("--max-length", help="Most tokens of a translation.")
]
MinLength = Annotated[
    int | None, typer.Option("--min-length", help="Fewest tokens of a translation.")
]
MinP = Annotated[
    float | None,
    typer.Option(
        "--min-p", help="Sample only tokens at least this fraction as probable as the best one."
    ),
]
Nbest = Annotated[
    int,
    typer.Option(
        "--nbest",
        min=1,
        help="Print N rows for each line: the line's number, score and translation.",
    ),
]
NoRepeatNgram = Annotated[
    int | None, typer.Option("--no-repeat-ngram", help="Let no sequence of N tokens occur twice.")
]
Patience = Annotated[
    float | None,
    typer.Option("--patience", help="Search until patience * beam hypotheses have ended."),
]
Precision = Annotated[
    str,
    typer.Option(
        "--precision",
        metavar="auto|float32|bfloat16|int8",
        help="Precision of matrix products; auto is the fastest that scores like float32.",
    ),
]
Prefix = Annotated[
    Path | None,
    typer.Option("--prefix", help="Beginnings of the translations, one for each line."),
]
PrefixBias = Annotated[
    float | None, typer.Option("--prefix-bias", help="Below 1, the prefix is favoured, not forced.")
]
RepetitionPenalty = Annotated[
    float | None,
    typer.Option(
        "--repetition-penalty", help="Above 1, tokens chosen before become less probable."
    ),
]
Sample = Annotated[
    bool, typer.Option("--sample", help="Sample tokens instead of searching for the best.")
]
Seed = Annotated[
    int | None, typer.Option("--seed", help="Seed of the random numbers for sampling.")
]
Shortlist = Annotated[
    bool,
    typer.Option("--shortlist", help="Choose only among the tokens of the model's shortlist."),
]
SplitSentences = Annotated[
    bool | None,
    typer.Option(
        "--split-sentences/--one-sentence-a-line",
        help="Translate each sentence of a line separately, or each line as it is; default: as the "
        "model was trained.",
    ),
]
Stream = Annotated[
    bool, typer.Option("--stream", help="Write the text of each line as soon as it is certain.")
]
Temperature = Annotated[
    float | None,
    typer.Option("--temperature", help="Sample; below 1, probable tokens are favoured."),
]
Terms = Annotated[
    Path | None,
    typer.Option(
        "--terms", help="Words that must occur in each line's translation, with tabs between them."
    ),
]
Text = Annotated[
    list[str] | None,
    typer.Option("--text", help="A sentence to translate instead of a file; several are allowed."),
]
TopK = Annotated[int | None, typer.Option("--top-k", help="Sample among the K best tokens only.")]
TopP = Annotated[
    float | None,
    typer.Option(
        "--top-p", help="Sample among the fewest best tokens whose probabilities add up to P."
    ),
]


_SEARCHING = (
    "attention_layer", "beam", "coverage_penalty", "diversity", "groups", "length_form",
    "length_penalty", "max_length", "min_length", "nbest", "no_repeat_ngram", "patience",
    "prefix_bias", "repetition_penalty", "shortlist",
)  # fmt: skip
_DRAWING = ("temperature", "top_k", "top_p", "min_p", "seed")
_NAMES = {"beam": "beam_size", "nbest": "n_best"}  # in Python, where they differ


def change(options: "SearchOptions", chosen: Mapping[str, Any]) -> "SearchOptions":
    """Return a model's own options with the chosen changes.

    chosen: values of the options of `translate` by name, None if unset. Any number for sampling
    turns sampling on, except a seed alone.
    """
    from headway.decoding.options import Sampling, changed_options

    searching = {_NAMES.get(name, name): chosen[name] for name in _SEARCHING}
    searching = {name: value for name, value in searching.items() if value is not None}
    drawing = {name: value for name in _DRAWING if (value := chosen[name]) is not None}
    if drawing.keys() == {"seed"} and not chosen["sample"]:
        raise typer.BadParameter("--seed is for sampling; add --sample, or leave it out.")
    if "diversity" in searching and searching.get("groups", options.groups) == 1:
        raise typer.BadParameter("--diversity is between groups; add --groups, or leave it out.")
    if chosen["sample"] or drawing:
        searching["sampling"] = Sampling(**drawing)
    return changed_options(options, searching)
