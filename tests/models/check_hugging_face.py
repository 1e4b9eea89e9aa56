"""An imported folder of Hugging Face computes what transformers computes from it."""

import json
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from headway.bundle import Bundle, load_bundle
from headway.data.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID
from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import search_all
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.interop.marian import import_marian
from headway.interop.marian.hugging_face_export import export
from headway.model.transformer import Transformer

FORMS = {
    "shared, swish": {},
    "shared, relu, tags": {"activation": "relu", "tags": True},
    "separate, swish, tags": {"separate": True, "tags": True},
    "separate, relu": {"separate": True, "activation": "relu"},
}
EXTRA = 12  # tokens more than the source has
SHORTEST = 6  # tokens of a translation, because a search by probability alone prefers none
TOLERANCE = 1e-4


@dataclass
class Both:
    """A folder as transformers loads it, and as Headway imported it."""

    folder: Path
    model: Any
    tokenizer: Any
    bundle: Bundle

    @property
    def separate(self) -> bool:
        return self.tokenizer.separate_vocabs

    def theirs(self, side: int) -> list[int]:
        """Return the id in the folder by the id here; pieces without an id are unknown there."""
        ours = (self.bundle.source_tokenizer, self.bundle.target_tokenizer)[side]
        name = "target_vocab.json" if side and self.separate else "vocab.json"
        ids = json.loads((self.folder / name).read_text(encoding="utf-8"))
        names = ["<pad>", "<unk>", "<pad>", "</s>", *ours.pieces(range(4, len(ours)))]
        return [ids[piece] for piece in names]


@pytest.fixture(scope="module", params=FORMS, ids=list(FORMS))
def both(
    request: pytest.FixtureRequest,
    make_folder: Callable[..., Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Both:
    folder = make_folder(**FORMS[request.param])
    out = tmp_path_factory.mktemp("imported") / "bundle"
    import_marian(folder, out)
    return _loaded(folder, out)


def _loaded(folder: Path, out: Path) -> Both:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers import MarianMTModel, MarianTokenizer

        model = MarianMTModel.from_pretrained(folder, dtype=torch.float32).eval()
        return Both(folder, model, MarianTokenizer.from_pretrained(folder), load_bundle(out))


@pytest.fixture(scope="module")
def sources(
    request: pytest.FixtureRequest, both: Both, lines: tuple[list[str], list[str]]
) -> list[list[int]]:
    """Return the ids of different sentences, with the end symbol."""
    last = list(dict.fromkeys(lines[0]))[-request.config.getoption("--sentences") :]
    encoded = both.bundle.source_tokenizer.encode_batch(_tagged(both, last))
    return [[*ids, END_ID] for ids in encoded]


def _tagged(both: Both, lines: Sequence[str]) -> list[str]:
    """Return the lines, with tags in turn for a model that has them."""
    tags = both.bundle.tags
    if not any(tags):
        return list(lines)
    return [f"{tags[i % len(tags)]} {line}" for i, line in enumerate(lines)]


def _padded(rows: Sequence[Sequence[int]], padding: int) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[padding] * (longest - len(row))] for row in rows])


@torch.inference_mode()
def _differences(both: Both, ours: Transformer, sources: list[list[int]]) -> tuple[float, float]:
    """Return the largest difference of encoder outputs, and of logits of a given translation."""
    # These random weights amplify rounding ten thousand times, so both compute in float64.
    model, ours = both.model.double(), ours.double()
    generator = random.Random(1)
    size = len(both.bundle.target_tokenizer)
    targets = [[START_ID, *generator.choices(range(4, size), k=len(s))] for s in sources]
    old = both.theirs(0), both.theirs(1)
    pad = both.model.config.pad_token_id
    of_memory = of_logits = 0.0
    for first in range(0, len(sources), 50):
        source, target = sources[first : first + 50], targets[first : first + 50]
        ids, inputs = _padded(source, PAD_ID), _padded(target, PAD_ID)
        theirs = model(
            input_ids=_padded([[old[0][i] for i in row] for row in source], pad),
            attention_mask=(ids != PAD_ID).long(),
            decoder_input_ids=_padded([[old[1][i] for i in row] for row in target], pad),
        )
        mask = (ids != PAD_ID)[:, None, None, :]
        memory = ours.encode(ids, mask)
        logits = ours.output_projection(ours.decode(inputs, memory, mask))
        columns = [i for i in range(logits.size(-1)) if i != START_ID]
        expected = theirs.logits[..., [old[1][i] for i in columns]]
        kept, written = ids != PAD_ID, inputs != PAD_ID
        difference = memory - theirs.encoder_last_hidden_state
        of_memory = max(of_memory, float(difference[kept].abs().max()))
        of_logits = max(of_logits, float((logits[..., columns] - expected)[written].abs().max()))
    both.model.float(), ours.float()
    return of_memory, of_logits


def test_encoder_outputs_and_logits(both: Both, sources: list[list[int]]) -> None:
    differences = _differences(both, both.bundle.model, sources)
    print(both.folder, differences)
    assert max(differences) <= TOLERANCE


def _changed(bundle: Bundle, change: str) -> Transformer:
    """Return the model with an error that an import could have."""
    settings: dict[str, dict[str, Any]] = {
        "halved": {"sinusoid_layout": "halved"},
        "epsilon": {"norm_epsilon": 1e-3},
    }
    config = bundle.config.replace(settings.get(change, {}))
    model = Transformer.from_config(config).eval()
    state = bundle.model.state_dict()
    if change == "bias":
        state["output_projection.bias"] = torch.zeros_like(state["output_projection.bias"])
    model.load_state_dict(state)
    if change == "shifted":
        table = model.source_embedding.tokens.weight
        table.data = table.data.roll(1, 0)
    return model


@pytest.mark.parametrize("change", ["halved", "bias", "epsilon", "shifted"])
def test_the_comparison_sees_errors(both: Both, sources: list[list[int]], change: str) -> None:
    assert max(_differences(both, _changed(both.bundle, change), sources[:50])) > 5 * TOLERANCE


def _by_length(sources: list[list[int]]) -> Iterator[list[list[int]]]:
    for _, group in groupby(sorted(sources, key=len), key=len):
        yield list(group)


@torch.inference_mode()
def _generated(both: Both, sources: list[list[int]], beam: int) -> list[list[int]]:
    """Return the translations of transformers in the ids of Headway; no unknown piece."""
    old, target = both.theirs(0), both.theirs(1)
    new = {theirs: ours for ours, theirs in enumerate(target)}
    new[both.model.config.pad_token_id] = PAD_ID
    pad = both.model.config.pad_token_id
    results = []
    for group in _by_length(sources):
        ids = torch.tensor([[old[i] for i in row] for row in group])
        unknown = target[UNK_ID]
        written = both.model.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), num_beams=beam, do_sample=False,
            max_new_tokens=len(group[0]) - 1 + EXTRA, min_new_tokens=SHORTEST,
            length_penalty=0.0, early_stopping=False,
            bad_words_ids=[[pad], [unknown]], forced_eos_token_id=None,
        )  # fmt: skip
        for row in written[:, 1:].tolist():
            kept = [new[i] for i in row]
            kept = kept[: kept.index(END_ID)] if END_ID in kept else kept
            results.append([i for i in kept if i != PAD_ID])
    return results


def _translated(both: Both, sources: list[list[int]], beam: int) -> list[Hypothesis]:
    options = SearchOptions(beam_size=beam, length_penalty=0.0, min_length=SHORTEST)
    requests = [
        Request(row, len(row) - 1 + EXTRA) for group in _by_length(sources) for row in group
    ]
    engine = build_engine(both.bundle.model)
    return [best[0] for best in search_all(engine, options, requests)]


@pytest.mark.parametrize("beam", [1, 4])
def test_translations(both: Both, sources: list[list[int]], beam: int) -> None:
    # Where the output limit ends a translation, transformers forces an end without its probability.
    ours, theirs = _translated(both, sources, beam), _generated(both, sources, beam)
    pairs = [pair for pair in zip(ours, theirs, strict=True) if beam == 1 or pair[0].complete]
    different = [pair for pair in pairs if list(pair[0].ids) != pair[1]]
    kinds = len({tuple(written) for _, written in pairs})
    print(f"beam {beam}: {len(pairs)} compared, {kinds} different texts, {different}")
    assert len(pairs) > 0.8 * len(sources)
    assert kinds > 10  # translations of nothing but one text would hide an error
    assert not different


@pytest.fixture(scope="module")
def exported(both: Both, tmp_path_factory: pytest.TempPathFactory) -> Both:
    """Return the bundle of `both`, with the folder that it was written back to."""
    place = tmp_path_factory.mktemp("exported")
    export(both.bundle, place / "folder")
    import_marian(place / "folder", place / "bundle")
    return _loaded(place / "folder", place / "bundle")


def test_weights_and_ids_come_back_bit_for_bit(both: Both, exported: Both) -> None:
    before, after = both.model.state_dict(), exported.model.state_dict()
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        if "embed_positions" not in name:  # sinusoids, as many as the longest translation needs
            assert torch.equal(after[name], tensor), name
    assert exported.tokenizer.get_vocab() == both.tokenizer.get_vocab()
    assert exported.tokenizer.separate_vocabs == both.separate


def test_a_folder_that_was_written_back(
    both: Both, exported: Both, sources: list[list[int]], lines: tuple[list[str], list[str]]
) -> None:
    written = Both(exported.folder, exported.model, exported.tokenizer, both.bundle)
    assert max(_differences(written, both.bundle.model, sources)) <= TOLERANCE
    texts = _tagged(both, lines[0][:500])
    assert exported.tokenizer(texts).input_ids == both.tokenizer(texts).input_ids
    assert _generated(exported, sources, 4) == _generated(both, sources, 4)
