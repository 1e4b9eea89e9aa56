"""`translator.trace`: one clean pass over the chosen hypothesis, its pieces on the axes."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

import headway
from headway.bundle import save_bundle
from headway.data.tokenizer import END_ID, START_ID
from headway.errors import ConfigError, HeadwayWarning, TraceError
from headway.evaluation.aligning import align_pairs
from headway.evaluation.scoring import score_pairs
from headway.inspection.ablation import head_importance
from headway.inspection.attribution import attribute
from headway.inspection.edit import forbid, zero
from headway.inspection.steps import target_rows
from headway.inspection.table import rows_table
from headway.inspection.translator import Translator
from headway.model.probe import listening

SENTENCE = "나는 너를 본다"
CROSS = "decoder.layers.1.cross_attention.weights"


def test_the_target_is_the_translation_that_the_search_finds(translator: Translator) -> None:
    found = translator.translate(SENTENCE, mend_runaways=False)

    seen = translator.trace(SENTENCE)

    assert seen.sentence.writes == (*found.pieces, "</s>")
    assert seen.sentence.reads == ("<s>", *found.pieces)
    assert seen.sentence.target == found.text
    assert seen.sentence.source == SENTENCE


def test_a_warning_says_that_one_search_may_leave_sentences_out(translator: Translator) -> None:
    text = "나는 너를 본다. 너는?"
    with pytest.warns(HeadwayWarning, match=r"^The text has 2 sentences, .* one by one\.$") as told:
        seen = translator.trace(text)

    assert len(told) == 1
    whole = translator.translate(text, mend_runaways=False, split_sentences=False)
    assert seen.sentence.target == whole.text
    assert translator.translate(text).num_sentences == 2
    translator.trace(text, "I see you. you?")  # a given target is complete


def test_a_model_of_paragraphs_traces_a_paragraph_without_a_warning(translator: Translator) -> None:
    bundle = replace(translator.bundle, record={"several_sentences": 0.9})
    Translator(bundle, engine="reference").trace("나는 너를 본다. 너는?")


def test_the_numbers_are_those_of_the_model_called_by_hand(translator: Translator) -> None:
    tokenizer, model = translator.bundle.source_tokenizer, translator.bundle.model
    source = [*tokenizer.encode(SENTENCE), END_ID]
    target = [START_ID, *tokenizer.encode("I see you")]
    with torch.no_grad():
        logits = model(torch.tensor([source]), torch.tensor([target]))

    seen = translator.trace(SENTENCE, "I see you")

    assert torch.equal(seen["logits"], logits[0])
    assert seen.sentence.source_ids == tuple(source)
    assert seen.sentence.target_ids == tuple(target)
    assert seen.sentence.label_ids == (*target[1:], END_ID)


def test_the_probabilities_of_the_rows_are_the_score_of_the_pair(translator: Translator) -> None:
    (score,) = score_pairs(translator, [SENTENCE], ["I see you"])

    rows = target_rows(translator.trace(SENTENCE, "I see you"))

    assert sum(math.log(row.probability) for row in rows) == pytest.approx(score.log_prob, abs=1e-4)
    for row in rows:
        assert row.others + sum(value for _, value in row.best) == pytest.approx(1, abs=1e-6)
        assert [value for _, value in row.best] == sorted((v for _, v in row.best), reverse=True)
        assert all(row.probability <= row.best[0][1] for row in rows)


def test_pieces_stand_along_the_axes_and_a_row_of_the_target_has_two_labels(
    translator: Translator,
) -> None:
    seen = translator.trace(SENTENCE, "I see")
    source, target = seen.sentence.source_pieces, seen.sentence.writes
    head, query, key = seen[CROSS].axes

    assert (head.name, query.name, key.name) == ("head", "query", "key")
    assert seen[CROSS].shape == (3, len(target), len(source))
    assert key.labels() == source
    assert source[-1] == target[-1] == "</s>"
    assert query.labels()[:2] == ("<s> → ▁", "▁ → I")
    # Whoever is looked at within the target has read its piece.
    _, query, key = seen["decoder.layers.0.self_attention.weights"].axes
    assert key.labels() == query.reads == ("<s>", *target[:-1])
    _, query, key = seen["encoder.layers.0.self_attention.weights"].axes
    assert query.labels() == key.labels() == source
    assert len(seen["logits"].axes[1].pieces) == seen["logits"].size(1)
    number = translator.bundle.target_tokenizer.id("I")
    assert seen["logits"].at(target="I", vocabulary="I") == seen["logits"][1, number]
    assert seen["source_embedding.position"].axes[0].pieces == source
    assert seen["probabilities"].axes == seen["logits"].axes


def test_pieces_of_a_translation_are_a_target(translator: Translator) -> None:
    found = translator.translate(SENTENCE, mend_runaways=False)

    assert translator.trace(SENTENCE, found.pieces).equals(translator.trace(SENTENCE))
    empty = translator.trace(SENTENCE, "")
    assert (empty.sentence.reads, empty.sentence.writes) == (("<s>",), ("</s>",))


def test_a_prefix_is_forced_on_the_search(translator: Translator) -> None:
    def plain(**options: Any) -> str:
        return translator.translate(SENTENCE, mend_runaways=False, **options).text

    seen = translator.trace(SENTENCE, prefix="you")

    assert seen.sentence.target.startswith("you")
    assert seen.sentence.target == plain(prefix="you")
    greedy = translator.trace(SENTENCE, options=headway.SearchOptions(beam_size=1))
    assert greedy.sentence.target == plain(beam_size=1)


def test_an_edit_is_of_one_run_and_knows_the_pieces(translator: Translator) -> None:
    clean = translator.trace(SENTENCE)

    edited = translator.trace(SENTENCE, edit={"source_mask": forbid(key="너")})

    place = clean.sentence.source_pieces.index("너")
    assert (edited[CROSS][:, :, place] == 0).all()
    assert edited.sentence == clean.sentence  # so that rows can be compared
    assert translator.trace(SENTENCE).equals(clean)
    with pytest.raises(TraceError, match="has no axis 'layer'"):
        translator.trace(SENTENCE, edit={CROSS: zero(layer=1)})
    assert not listening()
    assert translator.trace(SENTENCE).equals(clean)


def test_what_is_recorded_can_be_chosen(translator: Translator) -> None:
    seen = translator.trace(SENTENCE, record="attention")
    assert len(seen) == 5
    assert seen.nbytes < translator.trace(SENTENCE).nbytes / 8
    with pytest.raises(TraceError, match=r"No pass has '\*.wieghts'"):
        translator.trace(SENTENCE, record=["*.input", "*.wieghts"])
    with pytest.raises(TraceError, match="Did you mean 'attention'"):
        translator.trace(SENTENCE, record="atention")


def test_a_trace_that_would_be_too_large_is_not_begun(translator: Translator) -> None:
    with pytest.raises(ConfigError, match=r"may take .* bytes, but max_bytes is 1,000"):
        translator.trace(SENTENCE, max_bytes=1000)
    seen = translator.trace(SENTENCE, "I see")
    assert translator.trace(SENTENCE, "I see", max_bytes=10**6).nbytes == seen.nbytes < 10**6


def test_what_cannot_be_traced_says_so(translator: Translator, make) -> None:
    for text, message in (
        (" ", "has 0 parts, .* Give a sentence that is not blank"),
        ("나는 너를 본다 " * 9, "has [3-9] parts, .* take whole"),
    ):
        with pytest.raises(ConfigError, match=message):
            translator.trace(text)
    with pytest.raises(ConfigError, match="nothing to search for"):
        translator.trace(SENTENCE, "I see", prefix="I")
    with pytest.raises(ConfigError, match="no token 'seee'"):
        translator.trace(SENTENCE, ["seee"])
    with pytest.raises(TraceError, match=r"No pass has 'decoder\.layers\.9\.input'"):
        translator.trace(SENTENCE, edit={"decoder.layers.9.input": zero()})
    with pytest.raises(TraceError, match="computed from a finished pass"):
        translator.trace(SENTENCE, edit={"probabilities": zero()})
    ensemble = Translator(translator.bundle, ensemble=[translator.bundle])
    with pytest.raises(ConfigError, match="this translator averages 2"):
        ensemble.trace(SENTENCE)
    pairs = [SENTENCE], ["I see"]
    for ask in (score_pairs, align_pairs, head_importance):
        with pytest.raises(
            ConfigError, match="needs a single model, but this translator averages 2"
        ):
            ask(ensemble, *pairs)
    with pytest.raises(ConfigError, match="An attribution needs a single model"):
        attribute(ensemble, SENTENCE, "I see", 0)
    other: Translator = make(seed=8)
    other.bundle.model.train()
    with pytest.raises(TraceError, match="training mode"):
        other.trace(SENTENCE)


def test_a_loaded_translator_can_be_looked_into(translator: Translator, tmp_path) -> None:
    save_bundle(tmp_path / "bundle", translator.bundle)

    loaded = headway.load(tmp_path / "bundle", "cpu")

    assert isinstance(loaded, headway.Translator)
    assert loaded.trace(SENTENCE, "I see").equals(translator.trace(SENTENCE, "I see"))


def test_a_trace_of_a_sentence_prints_both_sides(translator: Translator) -> None:
    seen = translator.trace(SENTENCE, "I see", edit={"logits": zero(target=0)}, record="logits")
    assert repr(seen).split("\n") == [
        f"Trace of 1 tensors, {4 * 7 * seen['logits'].size(1)} bytes",
        "source  ▁ 나 는 ▁ 너 를 ▁ 본 다 </s>",
        "target  ▁ I ▁ s e e </s>",
        "edited  logits: zero(target=0)",
        f"  logits  (target=7, vocabulary={seen['logits'].size(1)})",
    ]
    head, first, *_ = rows_table(target_rows(seen, 1)).split("\n")
    assert head.split() == ["reads", "writes", "p", "most", "probable"]
    assert first.split()[:3] == ["<s>", "▁", f"{1 / seen['logits'].size(1):.4f}"]


def test_the_trace_of_a_module_does_not_know_what_its_rows_write(translator: Translator) -> None:
    with headway.trace(translator.bundle.model) as seen:
        translator.bundle.model(torch.tensor([[5, 3]]), torch.tensor([[2, 6]]))
    with pytest.raises(TraceError, match=r"Use `translator.trace`"):
        target_rows(seen)


def test_a_trace_is_of_one_sentence(translator: Translator) -> None:
    with pytest.raises(ConfigError, match="The sentence is of type list, not text"):
        translator.trace(["a cat"])  # type: ignore[arg-type]


class Wrapped(nn.Module):
    """What wraps a projection, and has nothing of its attributes."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *given: Any) -> Any:
        return self.inner(*given)


@pytest.mark.filterwarnings("ignore:The reference engine translates:UserWarning")
@pytest.mark.parametrize("path", ["self_attention.w_q", "self_attention", "feed_forward"])
@pytest.mark.parametrize("layer", [0, 1])
def test_parts_of_other_classes_can_be_traced(make: Any, path: str, layer: int) -> None:
    own = make()
    expected = own.trace(SENTENCE, "I see")
    parent, _, name = path.rpartition(".")
    holder = own.bundle.model.decoder.layers[layer].get_submodule(parent)
    setattr(holder, name, Wrapped(getattr(holder, name)))

    seen = Translator(own.bundle).trace(SENTENCE, "I see")

    torch.testing.assert_close(seen["logits"], expected["logits"])
    assert seen.variant == expected.variant
