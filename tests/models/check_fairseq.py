"""An imported model of fairseq 0.12.2 computes what fairseq computes from its own checkpoint."""

import dataclasses
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from tests.models.conftest import trained
from torch import Tensor

from headway.bundle import Bundle, load_bundle
from headway.data.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID
from headway.data.word_merges import WordMerges, joined
from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import search_all
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.interop.checkpoints import import_fairseq
from headway.interop.checkpoints.plain_tokenizer import plain_tokenizer
from headway.model.transformer import Transformer

# fairseq is of 2022, and much that it calls is to be removed.
pytestmark = pytest.mark.filterwarnings("ignore")

# By name: the architecture, further options, and how the checkpoint holds the settings.
FORMS: dict[str, tuple[str, list[str], str]] = {
    "post, two tables": (
        "transformer_iwslt_de_en", ["--share-decoder-input-output-embed"], "args"
    ),
    "pre, gelu, three tables, no scale": (
        "transformer_wmt_en_de_big_t2t", ["--activation-fn=gelu", "--no-scale-embedding"],
        "omegaconf",
    ),
    "one table": ("transformer_wmt_en_de", ["--share-all-embeddings"], "sections"),
    "learned positions": (
        "transformer", ["--encoder-learned-pos", "--decoder-learned-pos"], "omegaconf"
    ),
}  # fmt: skip
SIZES = {"embed-dim": 48, "ffn-embed-dim": 80, "attention-heads": 6}
WEIGHTS = 0.25  # wide logits: an error in one piece or position changes translations
END_LOGIT = 6.0
LONGEST, SHORTEST = 32, 6  # tokens of a translation
TOLERANCE = 1e-4
PAD, END = 1, 2  # in fairseq


@dataclass
class Both:
    """A model of fairseq and what Headway imported."""

    model: Any
    task: Any
    bundle: Bundle
    form: str

    def theirs(self, side: int) -> list[int]:
        """Return the id in fairseq's dictionary by the id here; a translation begins with </s>."""
        tokenizer = (self.bundle.source_tokenizer, self.bundle.target_tokenizer)[side]
        dictionary = (self.task.source_dictionary, self.task.target_dictionary)[side]
        pieces = tokenizer.pieces(range(len(tokenizer)))
        pieces[START_ID] = pieces[END_ID]
        return [dictionary.index(piece.rstrip(" ")) for piece in pieces]


@pytest.fixture(scope="session")
def fairseq() -> None:
    """Import fairseq, whose configurations Python 3.11 refuses unless they have a hash."""
    plain = dataclasses.dataclass

    def hashed(cls: Any = None, /, **options: Any) -> Any:
        def made(cls: Any) -> Any:
            is_its = cls.__module__.split(".")[0] in ("fairseq", "hydra")
            return plain(cls, **({"unsafe_hash": True} if is_its else {}) | options)

        return made if cls is None else made(cls)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataclasses, "dataclass", hashed)
        import fairseq.models.transformer  # noqa: F401  # pyright: ignore


@pytest.fixture(scope="module", params=FORMS, ids=list(FORMS))
def both(
    fairseq: None,
    request: pytest.FixtureRequest,
    lines: tuple[list[str], list[str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Both:
    from fairseq import options, tasks
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from omegaconf import OmegaConf

    architecture, flags, form = FORMS[request.param]
    folder = tmp_path_factory.mktemp("fairseq")
    _write_dictionaries(folder, lines, "--share-all-embeddings" in flags)
    sizes = [
        f"--{stack}-{name}={value}"
        for stack in ("encoder", "decoder")
        for name, value in SIZES.items()
    ]
    args = options.parse_args_and_arch(
        options.get_training_parser(),
        [
            str(folder), "--task=translation", f"--arch={architecture}", "-s=ko", "-t=en", *sizes,
            "--encoder-layers=2", "--decoder-layers=3", "--optimizer=adam", *flags,
        ],
    )  # fmt: skip
    cfg = convert_namespace_to_omegaconf(args)
    task = tasks.setup_task(cfg.task)
    torch.manual_seed(5)
    model = task.build_model(cfg.model).eval()
    _fill(model)
    content = {"model": model.state_dict(), "args": None, "cfg": None, "extra_state": {}}
    content |= {
        "args": {"args": args},
        "omegaconf": {"cfg": cfg},
        "sections": {"cfg": OmegaConf.to_container(cfg, resolve=True, enum_to_str=True)},
    }[form]
    torch.save(content, folder / "checkpoint_best.pt")
    out = tmp_path_factory.mktemp("imported") / "bundle"
    import_fairseq(folder, out)
    bundle = load_bundle(out)
    # Otherwise hardly a translation of random weights would end.
    bundle.model.output_projection.bias.data[END_ID] += END_LOGIT
    likely = torch.zeros(len(task.target_dictionary))
    likely[END] = END_LOGIT
    model.decoder.output_projection.register_forward_hook(
        lambda layer, inputs, logits: logits + likely.to(logits)
    )
    return Both(model, task, bundle, request.param)


def _write_dictionaries(folder: Path, lines: tuple[list[str], list[str]], joined: bool) -> None:
    """Write SentencePiece models and dictionaries, as fairseq's preparation of data does."""
    from fairseq.data import Dictionary

    for name, text in zip(("ko", "en"), lines, strict=True):
        corpus = [*lines[0][:2000], *lines[1][:2000]] if joined else text[:4000]
        model = trained(tuple(corpus), "unigram")
        (folder / ("both.model" if joined else f"spm.{name}.model")).write_bytes(model)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        dictionary = Dictionary()
        for line in corpus:
            dictionary.encode_line(" ".join(processor.encode_as_pieces(line)))
        dictionary.finalize(padding_factor=8)
        dictionary.save(str(folder / f"dict.{name}.txt"))


def _fill(model: Any) -> None:
    """Give a model random weights; padding keeps its zeros."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.randn_like(parameter) * WEIGHTS)
            if "layer_norm" in name:  # a large bias would decide each translation
                parameter.div_(5).add_(name.endswith("weight"))
            if "encoder_attn.out_proj" in name:
                parameter.mul_(4)
            if "embed_tokens" in name or "output_projection" in name:
                parameter[PAD] = 0


@pytest.fixture(scope="module")
def sources(
    request: pytest.FixtureRequest, both: Both, lines: tuple[list[str], list[str]]
) -> list[list[int]]:
    """Return the ids of different sentences, with the end symbol."""
    last = list(dict.fromkeys(lines[0]))[-request.config.getoption("--sentences") :]
    return [[*ids, END_ID] for ids in both.bundle.source_tokenizer.encode_batch(last)]


def _padded(rows: Sequence[Sequence[int]], padding: int) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[padding] * (longest - len(row))] for row in rows])


def _renamed(rows: Sequence[Sequence[int]], ids: Sequence[int]) -> Tensor:
    return _padded([[ids[i] for i in row] for row in rows], PAD)


@torch.inference_mode()
def _differences(both: Both, ours: Transformer, sources: list[list[int]]) -> tuple[float, float]:
    """Return the largest difference of encoder outputs, and of logits of a given translation."""
    model, ours = both.model.double(), ours.double()
    generator = random.Random(1)
    old = both.theirs(0), both.theirs(1)
    targets = [[START_ID, *generator.choices(range(4, len(old[1])), k=len(s))] for s in sources]
    ids, inputs = _padded(sources, PAD_ID), _padded(targets, PAD_ID)
    mask = (ids != PAD_ID)[:, None, None]
    encoded = model.encoder(_renamed(sources, old[0]), torch.tensor([*map(len, sources)]))
    logits, _ = model.decoder(_renamed(targets, old[1]), encoder_out=encoded)
    memory = ours.encode(ids, mask)
    scores = ours.output_projection(ours.decode(inputs, memory, mask))
    columns = [i for i in range(len(old[1])) if i != START_ID]
    theirs = logits[..., [old[1][i] for i in columns]]
    of_memory = (memory - encoded["encoder_out"][0].transpose(0, 1))[ids != PAD_ID]
    of_logits = (scores[..., columns] - theirs)[inputs != PAD_ID]
    both.model.float(), ours.float()
    return float(of_memory.abs().max()), float(of_logits.abs().max())


def test_encoder_outputs_and_logits(both: Both, sources: list[list[int]]) -> None:
    differences = _differences(both, both.bundle.model, sources)
    print(differences)
    assert max(differences) <= TOLERANCE


CHANGES: dict[str, dict[str, Any]] = {
    "first position": {"first_position": 0}, "layout": {"sinusoid_layout": "split"},
    "epsilon": {"norm_epsilon": 1e-3},
}  # fmt: skip


@pytest.mark.parametrize("change", [*CHANGES, "start"])
def test_the_comparison_sees_errors(both: Both, sources: list[list[int]], change: str) -> None:
    if both.form == "learned positions" and change in ("first position", "layout"):
        return
    config = both.bundle.config.replace(CHANGES.get(change, {}))
    model = Transformer.from_config(config).eval()
    model.load_state_dict(both.bundle.model.state_dict())
    if change == "start":
        table = model.target_embedding.tokens.weight.data
        table[START_ID] = table[UNK_ID]
    assert max(_differences(both, model, sources[:20])) > 5 * TOLERANCE


def test_ids_of_text(both: Both, lines: tuple[list[str], list[str]]) -> None:
    """The tokens are those that fairseq looks up for the pieces of SentencePiece."""
    from fairseq.data.encoders.sentencepiece_bpe import SentencepieceBPE, SentencepieceConfig

    folder = Path(both.task.cfg.data)
    sides = zip(
        ("ko", "en"), (both.task.source_dictionary, both.task.target_dictionary), strict=True
    )
    for side, (name, dictionary) in enumerate(sides):
        path = next(
            path for path in folder.glob("*.model") if name in path.name or path.stem == "both"
        )
        cutter = SentencepieceBPE(SentencepieceConfig(sentencepiece_model=str(path)))
        tokenizer = (both.bundle.source_tokenizer, both.bundle.target_tokenizer)[side]
        old = both.theirs(side)
        for line in [*lines[side][-500:], "Zebra ☂ 123", "  two  spaces "]:
            ids = dictionary.encode_line(
                cutter.encode(line), add_if_not_exist=False, append_eos=False
            )
            assert [old[i] for i in tokenizer.encode(line)] == ids.tolist()


@pytest.mark.parametrize("kind", ["subword_nmt", "fastbpe"])
def test_ids_of_words_that_are_merged(
    kind: str, fairseq: None, lines: tuple[list[str], list[str]]
) -> None:
    """The tokens are those of fairseq's own encoder, and join to the same text."""
    from fairseq.data import Dictionary
    from fairseq.data.encoders.subword_nmt_bpe import SubwordNMTBPE, SubwordNMTBPEConfig
    from subword_nmt.learn_bpe import learn_bpe

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "codes"
        with path.open("w", encoding="utf-8") as codes:
            learn_bpe([*lines[0][:4000], *lines[1][:4000]], codes, 2000)
        theirs = SubwordNMTBPE(SubwordNMTBPEConfig(bpe_codes=str(path)))
        content = path.read_bytes()
    if kind == "fastbpe":
        _, *pairs = content.decode().splitlines()
        content = "".join(f"{pair} {9999 - n}\n" for n, pair in enumerate(pairs)).encode()
    merges = WordMerges.read(content)
    dictionary = Dictionary()
    for line in lines[1][:4000]:
        dictionary.encode_line(theirs.encode(line))
    dictionary.finalize(threshold=3)
    words = [dictionary[i] for i in range(4, len(dictionary))]
    ours = plain_tokenizer(words, "word", trimmed=True, merges=merges)
    draw = random.Random(3)
    odd = "".join(map(chr, [*range(33, 127), 0xE9, 0x301, 0xD55C, 0x1F600, 0x2581, 0x200D]))
    drawn = ["".join(draw.choices(odd + " " * 20, k=draw.randrange(40))) for _ in range(1000)]
    for line in [*lines[1], *drawn]:
        cut = theirs.encode(line)
        ids = dictionary.encode_line(cut, add_if_not_exist=False, append_eos=False)
        known = [ours.piece(i).removeprefix("▁") for i in ours.encode(line)]
        assert known == [dictionary[int(i)] for i in ids]
        text = theirs.decode(cut)
        assert joined(" ".join(merges.cut(line))) == " ".join(text.split(" ")).strip(" ")


def _generated(both: Both, sources: list[list[int]], beam: int) -> list[tuple[list[int], float]]:
    """Return the tokens of fairseq's translations, with our ids and without the end, and scores."""
    from fairseq.sequence_generator import SequenceGenerator

    generator = SequenceGenerator(
        [both.model], both.task.target_dictionary, beam_size=beam, max_len_b=LONGEST,
        min_len=SHORTEST, len_penalty=0.0, unk_penalty=1e9,
    )  # fmt: skip
    old, new = both.theirs(0), {i: n for n, i in enumerate(both.theirs(1)) if n != START_ID}
    tokens = _renamed(sources, old)
    found = generator.generate(
        [both.model],
        {"net_input": {"src_tokens": tokens, "src_lengths": torch.tensor([*map(len, sources)])}},
    )
    best = [hypotheses[0] for hypotheses in found]
    return [([new[int(i)] for i in b["tokens"][:-1]], float(b["score"])) for b in best]


def _translated(both: Both, sources: list[list[int]], beam: int) -> list[Hypothesis]:
    options = SearchOptions(beam_size=beam, length_penalty=0.0, min_length=SHORTEST)
    requests = [Request(row, LONGEST) for row in sources]
    return [best[0] for best in search_all(build_engine(both.bundle.model), options, requests)]


@pytest.mark.parametrize("beam", [1, 4])
def test_translations(both: Both, sources: list[list[int]], beam: int) -> None:
    ours, theirs = _translated(both, sources, beam), _generated(both, sources, beam)
    # At the limit, fairseq adds the end, whose probability counts only there.
    pairs = [(o, t) for o, t in zip(ours, theirs, strict=True) if o.complete]
    different = [(o, t) for o, t in pairs if list(o.ids) != t[0]]
    kinds = len({tuple(t[0]) for _, t in pairs})
    print(f"beam {beam}: {len(pairs)} of {len(ours)} compared, {kinds} texts, {different}")
    assert len(pairs) > 0.5 * len(sources)
    assert kinds > 10
    assert not different
    assert all(o.log_prob == pytest.approx(score, abs=1e-3) for o, (_, score) in pairs)
