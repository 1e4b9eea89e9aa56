"""The demonstration, which Headway trained, translates in transformers as it does in Headway."""

import json
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import headway
from headway.bundle import Bundle, load_bundle
from headway.data.batching import collate
from headway.data.encoded import EncodedPair
from headway.data.tokenizer import END_ID, PAD_ID, START_ID, train_tokenizer
from headway.interop.marian.hugging_face_export import export
from headway.interop.marian.hugging_face_files import file_ids
from headway.model.transformer import Transformer
from headway.sample_corpus import build_sample_corpus

DEMO = Path(__file__).parents[2] / "runs" / "demo"
SENTENCES = 300
TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    """Return sentences that the demonstration was not trained on."""
    test = build_sample_corpus(seed=1).test_unseen[:SENTENCES]
    return [(pair.korean, pair.english) for pair in test]


def _loaded(folder: Path) -> tuple[Any, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers import MarianMTModel, MarianTokenizer

        model = MarianMTModel.from_pretrained(folder, dtype=torch.float32).eval()
        return model, MarianTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bundle, Any, Any]:
    bundle = load_bundle(DEMO)
    folder = tmp_path_factory.mktemp("exported") / "demo"
    export(bundle, folder)
    return bundle, *_loaded(folder)


def _largest_difference(
    bundle: Bundle, model: Any, sources: Sequence[str], targets: Sequence[str]
) -> float:
    """Return the largest difference of logits of given translations, both in float32."""
    sides = bundle.source_tokenizer, bundle.target_tokenizer
    encoded = zip(
        *(t.encode_batch(x) for t, x in zip(sides, (sources, targets), strict=True)), strict=True
    )
    batch = collate([EncodedPair(s, t, i) for i, (s, t) in enumerate(encoded)])
    new = [{ours: i for i, ours in enumerate(ids.rows)} for ids in file_ids(bundle)]
    pad = model.config.pad_token_id
    theirs = [
        torch.tensor([[pad if i in (PAD_ID, START_ID) else ids[i] for i in row] for row in rows])
        for ids, rows in zip(
            new, (batch.source_ids.tolist(), batch.target_ids.tolist()), strict=True
        )
    ]
    columns = [i for i in range(len(sides[1])) if i not in (PAD_ID, START_ID)]
    with torch.inference_mode():
        ours = bundle.model(batch.source_ids, batch.target_ids)[..., columns]
        mask = (batch.source_ids != PAD_ID).long()
        logits = model(theirs[0], attention_mask=mask, decoder_input_ids=theirs[1]).logits
    logits = logits[..., [new[1][i] for i in columns]]
    return float((ours - logits)[batch.target_ids != PAD_ID].abs().max())


def test_logits_and_ids(demo: tuple[Bundle, Any, Any], pairs: list[tuple[str, str]]) -> None:
    bundle, model, tokenizer = demo
    sources, targets = zip(*pairs, strict=True)
    difference = _largest_difference(bundle, model, sources, targets)
    print(difference)
    assert difference <= TOLERANCE
    rows = file_ids(bundle)[0].rows
    ours = bundle.source_tokenizer.encode_batch(sources)
    theirs = tokenizer(list(sources)).input_ids
    assert [[rows[i] for i in ids] for ids in theirs] == [[*ids, END_ID] for ids in ours]


@pytest.mark.parametrize("beam", [1, 4])
def test_translations(
    demo: tuple[Bundle, Any, Any], pairs: list[tuple[str, str]], beam: int
) -> None:
    """The length penalty is 0 for both, because its formulas differ."""
    _, model, tokenizer = demo
    sources = [source for source, _ in pairs]
    translator = headway.load(DEMO, precision="float32")
    options = replace(translator.options, beam_size=beam, length_penalty=0.0)
    ours = [
        found.text for found in translator.translate(sources, mend_runaways=False, options=options)
    ]
    inputs = tokenizer(sources, return_tensors="pt", padding=True)
    with torch.inference_mode():
        written = model.generate(**inputs, num_beams=beam, length_penalty=0.0)
    theirs = tokenizer.batch_decode(written, skip_special_tokens=True)
    different = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
    print(beam, len(set(theirs)), different)
    assert len(set(theirs)) > 0.8 * len(sources)
    assert not different


def test_two_vocabularies_of_different_size_and_bytes(
    pairs: list[tuple[str, str]], tmp_path: Path
) -> None:
    sources, targets = (list(side) for side in zip(*pairs, strict=True))
    sides = (
        train_tokenizer(sources, kind="bpe", vocabulary_size=700, byte_fallback=True,
                        character_coverage=0.98),
        train_tokenizer(targets, kind="unigram", vocabulary_size=350),
    )  # fmt: skip
    bundle = load_bundle(DEMO)
    config = bundle.config.replace({
        "source_vocab_size": 700, "target_vocab_size": len(sides[1]), "output_bias": True,
        "shared_embeddings": "target", "activation": "silu",
    })  # fmt: skip
    torch.manual_seed(4)
    model = Transformer.from_config(config).eval()
    torch.nn.init.normal_(model.output_projection.bias)
    bundle = replace(
        bundle, config=config, model=model, source_tokenizer=sides[0], target_tokenizer=sides[1]
    )
    export(bundle, tmp_path / "out", sources)
    theirs, tokenizer = _loaded(tmp_path / "out")
    assert _largest_difference(bundle, theirs, sources, targets) <= TOLERANCE
    for side, (texts, argument) in enumerate(((sources, "text"), (targets, "text_target"))):
        rows = file_ids(bundle)[side].rows
        ids = [[rows[i] for i in row] for row in tokenizer(**{argument: texts})["input_ids"]]
        assert ids == [[*row, END_ID] for row in sides[side].encode_batch(texts)]
    written = tokenizer.batch_decode(
        tokenizer(text_target=targets)["input_ids"], skip_special_tokens=True
    )
    assert written == [sides[1].decode(ids) for ids in sides[1].encode_batch(targets)]
    assert json.loads((tmp_path / "out" / "tokenizer_config.json").read_text())["separate_vocabs"]
