"""Questions about a trace that take more than looking up: why, what if, which word."""

import math
from collections.abc import Callable, Collection
from typing import Any

import torch
from fastapi import APIRouter, Request

from headway.data.encoded import EncodedPair
from headway.data.words import number_words, words_of
from headway.decoding.alignment import Alignment, pharaoh, word_alignment, word_sums
from headway.decoding.attention import chosen_layer
from headway.errors import TraceError
from headway.evaluation.alignment_error import alignment_error, check_gold, parse_gold
from headway.inspection.ablation import KINDS, pairs_importance
from headway.inspection.attribution import Method
from headway.inspection.attribution import attribute as attribute_piece
from headway.inspection.comparing import compare as compare_traces
from headway.inspection.lens import logit_lens
from headway.inspection.named_tensor import Axis
from headway.inspection.sentence import TracedSentence
from headway.inspection.trace import Trace
from headway.serving.failures import Json, RefusedError, told_as
from headway.serving.models import Here, Served
from headway.serving.request_queue import in_turn
from headway.serving.schemas import AblateBody, AttributeBody, CompareBody, GoldBody
from headway.serving.traces import Kept

router = APIRouter(prefix="/api/traces/{trace}")

_SHORT: dict[str, str] = dict(zip(KINDS, ("encoder", "decoder", "cross"), strict=True))


@router.get("/lens")
def lens(here: Here, trace: str) -> Json:
    """Return what each decoder layer would write, and how long its residual streams are."""
    return Json(lens_of(here.traces.get(trace).trace))


def lens_of(seen: Trace) -> dict[str, Any]:
    """Return what each decoder layer of a trace would write."""
    # The lens reads what the layers gave, edited or not, and goes on from there without edits.
    refuse_edits(seen.edits.keys() & {"decoder.output", "logits"})
    layers = [
        {
            "name": layer.name,
            "rows": [row.best for row in layer.rows],
            "written": [row.written for row in layer.rows],
            "norms": [row.norm for row in layer.rows],
        }
        for layer in logit_lens(seen)
    ]
    return {"layers": layers}


@router.post("/compare")
def compare(here: Here, trace: str, body: CompareBody) -> Json:
    """Compare a trace with another one, as before and after."""
    before, after = here.traces.get(trace), here.traces.get(body.other)
    found = compare_traces(before.trace, after.trace)
    rows = zip(found.before, found.after, strict=True)
    return Json(
        {
            "rows": [
                {"writes": old.writes, "before": old.probability, "after": new.probability}
                for old, new in rows
            ],
            "moved": [{"name": name, "relative": relative} for name, relative in found.moved],
            "sentence": {"en": found.sentence("en"), "ko": found.sentence("ko")},
        }
    )


@router.post("/ablate")
async def ablate(here: Here, request: Request, trace: str, body: AblateBody) -> Json:
    """Return what becomes of one row's log-probability without each head in turn."""
    kept = here.traces.get(trace)
    refuse_edits(kept.trace.edits)
    sentence = _sentence(kept.trace)
    _row_axis(sentence).find(body.row, len(sentence.writes))
    return await _once(kept, request, f"ablate {body.row}", lambda: _ablated(kept, body.row))


def _ablated(kept: Kept[Served], row: int) -> dict[str, Any]:
    sentence = _sentence(kept.trace)
    # Of both sides the end and start symbols are added when a batch is made.
    pair = EncodedPair(list(sentence.source_ids[:-1]), list(sentence.target_ids[1:]), 1)
    importance = pairs_importance(kept.owner.translator.bundle, [pair], row)
    falls = {
        _SHORT[kind]: (-rises).tolist() for kind, rises in importance.rises.items()
    }  # the loss is minus the log-probability
    return {"piece": sentence.writes[row], "probability": math.exp(-importance.loss), **falls}


@router.post("/attribute")
async def attribute(here: Here, request: Request, trace: str, body: AttributeBody) -> Json:
    """Return how much each piece that was read has to do with each that was written."""
    kept = here.traces.get(trace)
    refuse_edits(kept.trace.edits)
    return await _once(kept, request, body.method, lambda: attributed(kept, body.method))


def attributed(kept: Kept[Served], method: Method) -> dict[str, Any]:
    """Return what each written piece is due to."""
    if method in kept.answers:
        return kept.answers[method]
    sentence, bundle = _sentence(kept.trace), kept.owner.translator.bundle
    values: list[list[float | None]] = []
    baselines, gaps = [], []
    for row in range(len(sentence.writes)):
        found = attribute_piece(bundle, sentence.source, sentence.writes[:-1], row, method=method)
        unread = [None] * (len(sentence.reads) - len(found.prefix_scores))
        values.append([*found.source_scores, *found.prefix_scores, *unread])
        baselines.append(found.baseline)
        gaps.append(found.gap)
    kept.answers[method] = {
        "method": method,
        "rows": _row_axis(sentence).labels(),
        "columns": [*sentence.source_pieces, *sentence.reads],
        "values": values,
        "baselines": baselines,
        "gaps": gaps,
    }
    return kept.answers[method]


def refuse_edits(edits: Collection[str]) -> None:
    """Refuse a question of the model as it is, where it was asked of an edited trace."""
    if edits:
        raise RefusedError(
            400,
            "The trace has edits, and this question is of the unedited model.",
            "Ask about the trace without edits.",
            "edit",
        )


@router.get("/align")
def align(
    here: Here,
    trace: str,
    layer: int | None = None,
    head: int | None = None,
    reads: bool = False,
) -> Json:
    """Return which source word each target word is about, read off cross-attention."""
    return Json(alignment_of(here.traces.get(trace), layer, head, reads))


def alignment_of(
    kept: Kept[Served], layer: int | None = None, head: int | None = None, reads: bool = False
) -> dict[str, Any]:
    """Return the words of both sides and which belong together, by this layer and head."""
    sentence, bundle = _sentence(kept.trace), kept.owner.translator.bundle
    name, weights = _weights(kept, chosen_layer(bundle.model, layer), head, reads)
    source_words, target_words = _words(kept)
    sources, targets, sums = word_sums(weights, source_words, target_words)
    pieces = [target_words.count(word) for word in targets]
    return {
        # A word's row is the mean of those of its pieces, so that it has the sum 1 at most.
        "matrix": (sums / torch.tensor(pieces, dtype=sums.dtype)[:, None]).tolist(),
        "source_words": _named(words_of(bundle.source_tokenizer, sentence.source), sources),
        "target_words": _named(_target_words(kept), targets),
        "pharaoh": pharaoh(word_alignment(weights, source_words, target_words)),
        "name": name,
    }


@router.post("/align_error")
def align_error(here: Here, trace: str, body: GoldBody) -> Json:
    """Score each layer and head, and the mean of the heads, by an alignment by hand."""
    kept = here.traces.get(trace)
    sentence, bundle = _sentence(kept.trace), kept.owner.translator.bundle
    tokenizers = bundle.source_tokenizer, bundle.target_tokenizer
    with told_as("gold"):
        gold = parse_gold(body.gold)
        check_gold([gold], [sentence.source], [" ".join(_target_words(kept))], *tokenizers)
        rows = []
        for layer, head, reads in _readings(kept, body):
            score = alignment_error([_aligned(kept, layer, head, reads)], [gold])
            rows.append({"layer": layer, "head": head, "reads": reads} | score.as_dict())
    return Json({"rows": sorted(rows, key=lambda row: row["error_rate"])})


def _readings(kept: Kept[Served], body: GoldBody) -> list[tuple[int, int | None, bool]]:
    """Return what is to be scored; the head None is the mean of all."""
    model = kept.owner.translator.bundle.model
    count = len(model.decoder.layers)
    layers = range(count) if body.layer is None else [chosen_layer(model, body.layer)]
    found: list[tuple[int, int | None, bool]] = []
    for layer in layers:
        heads = kept.trace[_name(layer)].size(0)
        chosen = [None, *range(heads)] if body.head is None else [body.head]
        moments = (False, True) if body.reads is None else (body.reads,)
        found += [(layer, head, reads) for head in chosen for reads in moments]
    return found


def _aligned(kept: Kept[Served], layer: int, head: int | None, reads: bool) -> Alignment:
    return word_alignment(_weights(kept, layer, head, reads)[1], *_words(kept))


def _weights(
    kept: Kept[Served], layer: int, head: int | None, reads: bool
) -> tuple[str, torch.Tensor]:
    """Return the name and the weights, (T, S) without end symbols; the head None is the mean."""
    name = _name(layer)
    weights = kept.trace[name]
    own = weights.float().mean(dim=0) if head is None else weights.at(head=head).float()
    # The last of the rows chooses the end symbol; the row that reads a piece is the next one.
    own = own[1:] if reads else own[:-1]
    return name, own[:, :-1].cpu()


def _name(layer: int) -> str:
    return f"decoder.layers.{layer}.cross_attention.weights"


def _words(kept: Kept[Served]) -> tuple[list[int | None], list[int | None]]:
    """Return the number of the word of each piece of both sides, end symbols left out."""
    sentence, bundle = _sentence(kept.trace), kept.owner.translator.bundle
    source = number_words(bundle.source_tokenizer, sentence.source)
    return source, number_words(bundle.target_tokenizer, sentence.target_ids[1:])


def _target_words(kept: Kept[Served]) -> list[str]:
    tokenizer = kept.owner.translator.bundle.target_tokenizer
    return words_of(tokenizer, _sentence(kept.trace).target_ids[1:])


def _named(words: list[str], numbers: list[int]) -> list[str]:
    return [words[number] for number in numbers]


def _row_axis(sentence: TracedSentence) -> Axis:
    return sentence.attach(Axis("query", "T"))


def _sentence(trace: Trace) -> TracedSentence:
    if trace.sentence is None:
        raise TraceError("The trace is of no sentence.", "Ask for one with POST /api/trace.")
    return trace.sentence


async def _once(
    kept: Kept[Served], request: Request, question: str, compute: Callable[[], dict[str, Any]]
) -> Json:
    """Compute an answer in turn, or return at once what was computed before."""

    def answer() -> None:
        if question not in kept.answers:
            kept.answers[question] = compute()

    if question not in kept.answers:
        await in_turn(kept.owner.turn, request, answer)
    return Json(kept.answers[question])
