"""Answers about a trace that must be computed: lens, ablation, attribution, alignment."""

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
from headway.serving.failures import Json, RefusedError, reported_as
from headway.serving.models import CurrentExplorer, Served
from headway.serving.request_queue import in_turn
from headway.serving.schemas import AblateBody, AttributeBody, CompareBody, GoldBody
from headway.serving.traces import StoredTrace

router = APIRouter(prefix="/api/traces/{trace}")

_SHORT: dict[str, str] = dict(zip(KINDS, ("encoder", "decoder", "cross"), strict=True))


@router.get("/lens")
def lens(explorer: CurrentExplorer, trace: str) -> Json:
    """Return the prediction of each decoder layer, and the lengths of its residual streams."""
    return Json(lens_of(explorer.traces.get(trace).trace))


def lens_of(seen: Trace) -> dict[str, Any]:
    """Return the prediction of each decoder layer of a trace."""
    # The lens starts from the layers' outputs, edited or not, and continues without edits.
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
def compare(explorer: CurrentExplorer, trace: str, body: CompareBody) -> Json:
    """Compare a trace with a later one."""
    before, after = explorer.traces.get(trace), explorer.traces.get(body.other)
    changes = compare_traces(before.trace, after.trace)
    rows = zip(changes.before, changes.after, strict=True)
    return Json(
        {
            "rows": [
                {"writes": old.writes, "before": old.probability, "after": new.probability}
                for old, new in rows
            ],
            "moved": [{"name": name, "relative": relative} for name, relative in changes.moved],
            "sentence": {"en": changes.sentence("en"), "ko": changes.sentence("ko")},
        }
    )


@router.post("/ablate")
async def ablate(explorer: CurrentExplorer, request: Request, trace: str, body: AblateBody) -> Json:
    """Remove each head in turn; return how far the log-probability of one row falls."""
    stored = explorer.traces.get(trace)
    refuse_edits(stored.trace.edits)
    sentence = _sentence(stored.trace)
    _row_axis(sentence).find(body.row, len(sentence.writes))
    return await _once(stored, request, f"ablate {body.row}", lambda: _ablated(stored, body.row))


def _ablated(stored: StoredTrace[Served], row: int) -> dict[str, Any]:
    sentence = _sentence(stored.trace)
    # The end and start symbols are left out, because making a batch adds them.
    pair = EncodedPair(list(sentence.source_ids[:-1]), list(sentence.target_ids[1:]), 1)
    importance = pairs_importance(stored.owner.translator.bundle, [pair], row)
    falls = {
        _SHORT[kind]: (-rises).tolist() for kind, rises in importance.rises.items()
    }  # the loss is minus the log-probability
    return {"piece": sentence.writes[row], "probability": math.exp(-importance.loss), **falls}


@router.post("/attribute")
async def attribute(
    explorer: CurrentExplorer, request: Request, trace: str, body: AttributeBody
) -> Json:
    """Return the influence of each piece that was read on each piece that was written."""
    stored = explorer.traces.get(trace)
    refuse_edits(stored.trace.edits)
    return await _once(stored, request, body.method, lambda: attributed(stored, body.method))


def attributed(stored: StoredTrace[Served], method: Method) -> dict[str, Any]:
    """Return the influences on each written piece."""
    if method in stored.answers:
        return stored.answers[method]
    sentence, bundle = _sentence(stored.trace), stored.owner.translator.bundle
    values: list[list[float | None]] = []
    baselines, gaps = [], []
    for row in range(len(sentence.writes)):
        scores = attribute_piece(bundle, sentence.source, sentence.writes[:-1], row, method=method)
        unread = [None] * (len(sentence.reads) - len(scores.prefix_scores))
        values.append([*scores.source_scores, *scores.prefix_scores, *unread])
        baselines.append(scores.baseline)
        gaps.append(scores.gap)
    stored.answers[method] = {
        "method": method,
        "rows": _row_axis(sentence).labels(),
        "columns": [*sentence.source_pieces, *sentence.reads],
        "values": values,
        "baselines": baselines,
        "gaps": gaps,
    }
    return stored.answers[method]


def refuse_edits(edits: Collection[str]) -> None:
    """Refuse a question about the unedited model if the trace has edits."""
    if edits:
        raise RefusedError(
            400,
            "The trace has edits, but this question is about the unedited model.",
            "Ask about the trace without edits.",
            "edit",
        )


@router.get("/align")
def align(
    explorer: CurrentExplorer,
    trace: str,
    layer: int | None = None,
    head: int | None = None,
    reads: bool = False,
) -> Json:
    """Return the source words that each target word is aligned to, by cross-attention."""
    return Json(alignment_of(explorer.traces.get(trace), layer, head, reads))


def alignment_of(
    stored: StoredTrace[Served],
    layer: int | None = None,
    head: int | None = None,
    reads: bool = False,
) -> dict[str, Any]:
    """Return the words of both sides and their alignment, by this layer and head."""
    sentence, bundle = _sentence(stored.trace), stored.owner.translator.bundle
    name, weights = _weights(stored, chosen_layer(bundle.model, layer), head, reads)
    source_words, target_words = _words(stored)
    sources, targets, sums = word_sums(weights, source_words, target_words)
    pieces = [target_words.count(word) for word in targets]
    return {
        # The row of a word is the mean of its pieces' rows, so its sum is at most 1.
        "matrix": (sums / torch.tensor(pieces, dtype=sums.dtype)[:, None]).tolist(),
        "source_words": _named(words_of(bundle.source_tokenizer, sentence.source), sources),
        "target_words": _named(_target_words(stored), targets),
        "pharaoh": pharaoh(word_alignment(weights, source_words, target_words)),
        "name": name,
    }


@router.post("/align_error")
def align_error(explorer: CurrentExplorer, trace: str, body: GoldBody) -> Json:
    """Score each layer and head, and the mean of the heads, by a gold alignment."""
    stored = explorer.traces.get(trace)
    sentence, bundle = _sentence(stored.trace), stored.owner.translator.bundle
    tokenizers = bundle.source_tokenizer, bundle.target_tokenizer
    with reported_as("gold"):
        gold = parse_gold(body.gold)
        check_gold([gold], [sentence.source], [" ".join(_target_words(stored))], *tokenizers)
        rows = []
        for layer, head, reads in _readings(stored, body):
            score = alignment_error([_aligned(stored, layer, head, reads)], [gold])
            rows.append({"layer": layer, "head": head, "reads": reads} | score.as_dict())
    return Json({"rows": sorted(rows, key=lambda row: row["error_rate"])})


def _readings(stored: StoredTrace[Served], body: GoldBody) -> list[tuple[int, int | None, bool]]:
    """Return the layers, heads and moments to score; the head None is the mean of all."""
    model = stored.owner.translator.bundle.model
    count = len(model.decoder.layers)
    layers = range(count) if body.layer is None else [chosen_layer(model, body.layer)]
    readings: list[tuple[int, int | None, bool]] = []
    for layer in layers:
        heads = stored.trace[_name(layer)].size(0)
        chosen = [None, *range(heads)] if body.head is None else [body.head]
        moments = (False, True) if body.reads is None else (body.reads,)
        readings += [(layer, head, reads) for head in chosen for reads in moments]
    return readings


def _aligned(stored: StoredTrace[Served], layer: int, head: int | None, reads: bool) -> Alignment:
    return word_alignment(_weights(stored, layer, head, reads)[1], *_words(stored))


def _weights(
    stored: StoredTrace[Served], layer: int, head: int | None, reads: bool
) -> tuple[str, torch.Tensor]:
    """Return the name and the weights, (T, S) without end symbols; the head None is the mean."""
    name = _name(layer)
    weights = stored.trace[name]
    rows = weights.float().mean(dim=0) if head is None else weights.at(head=head).float()
    # The last row chooses the end symbol; a piece is read in the row after it is written.
    rows = rows[1:] if reads else rows[:-1]
    return name, rows[:, :-1].cpu()


def _name(layer: int) -> str:
    return f"decoder.layers.{layer}.cross_attention.weights"


def _words(stored: StoredTrace[Served]) -> tuple[list[int | None], list[int | None]]:
    """Return the word number of each piece of both sides, without end symbols."""
    sentence, bundle = _sentence(stored.trace), stored.owner.translator.bundle
    source = number_words(bundle.source_tokenizer, sentence.source)
    return source, number_words(bundle.target_tokenizer, sentence.target_ids[1:])


def _target_words(stored: StoredTrace[Served]) -> list[str]:
    tokenizer = stored.owner.translator.bundle.target_tokenizer
    return words_of(tokenizer, _sentence(stored.trace).target_ids[1:])


def _named(words: list[str], numbers: list[int]) -> list[str]:
    return [words[number] for number in numbers]


def _row_axis(sentence: TracedSentence) -> Axis:
    return sentence.attach(Axis("query", "T"))


def _sentence(trace: Trace) -> TracedSentence:
    if trace.sentence is None:
        raise TraceError(
            "The trace does not describe a sentence.", "Ask for one with POST /api/trace."
        )
    return trace.sentence


async def _once(
    stored: StoredTrace[Served],
    request: Request,
    question: str,
    compute: Callable[[], dict[str, Any]],
) -> Json:
    """Compute an answer in turn, or return the earlier answer at once."""

    def answer() -> None:
        if question not in stored.answers:
            stored.answers[question] = compute()

    if question not in stored.answers:
        await in_turn(stored.owner.turn, request, answer)
    return Json(stored.answers[question])
