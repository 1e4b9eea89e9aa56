"""The demonstration: train on the built-in Korean-English corpus, evaluate and translate."""

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from headway.bundle import load_bundle, save_bundle
from headway.config.data import DataConfig, TokenizerConfig
from headway.config.decoding import DecodingConfig
from headway.config.evaluation import EvaluationConfig
from headway.config.model import Architecture
from headway.config.run import Recipe, RunConfig
from headway.config.training import TrainingConfig
from headway.decoding.familiarity import FAMILIARITY
from headway.decoding.translation import Translation
from headway.errors import MissingExtraError, RunError
from headway.evaluation.familiarity import measured_familiarity
from headway.evaluation.metrics import score_texts
from headway.home import expanded
from headway.inspection.figures import trace_attention
from headway.inspection.translator import Translator, load
from headway.json_text import to_json
from headway.runtime.atomic_files import write_atomically
from headway.runtime.devices import resolve_device
from headway.sample_corpus import (
    SampleCorpus,
    SamplePair,
    build_sample_corpus,
    more_sentences,
)
from headway.saved_bundle import find_bundle
from headway.training.reporting import Reporter
from headway.training.run import train
from headway.training.run_folder import RunFolder

TRANSLATIONS_SHOWN = 10
_OFFERED = 6
_SPLITS = ("train", "valid", "test_unseen", "test_compositional")
NAME = "Headway demo: Korean to English"
_PICTURE = "attention.png"
PICTURED_SENTENCE = "제가 어제 찾은 팔찌는 비쌌습니다."
FIRST_SENTENCES = (
    ("저는 학생입니다.", "I am a student."),
    ("안녕하세요? 반갑습니다.", "Hello. Nice to meet you."),
    ("이름이 뭐예요?", "What is your name?"),
    ("저는 어제 학교에 갔어요.", "I went to school yesterday."),
    ("오늘 날씨가 좋네요.", "The weather is good today."),
    ("제가 어제 찾은 팔찌는 비쌌습니다.", "The bracelet that I found yesterday was expensive."),
)
"""The sentences that a reader sees first, with their translations."""
BEYOND = "인공지능이 세상을 바꾸고 있습니다."
"""A sentence beyond the grammar, to show that its translation is flagged."""
CALIBRATING = 1500
"""The number of sentences of the grammar that decide what the model knows."""
_CALIBRATING_SEED = 2


@dataclass(frozen=True, slots=True)
class Example:
    """A held-out sentence with the translation of the model and the reference."""

    source: str
    translation: str
    reference: str
    unfamiliar: bool = False
    """True if the sentence is beyond what the model knows."""

    @property
    def right(self) -> bool:
        """Return True if the translation equals the reference."""
        return self.translation == self.reference


@dataclass(frozen=True, slots=True)
class DemoResult:
    """The result of the demonstration."""

    folder: Path
    report: dict[str, Any]
    examples: list[Example]
    """The first sentences, and then held-out ones."""
    beyond: Example | None = None
    """A sentence beyond the grammar; it has no reference."""


def text_folder(folder: Path) -> Path:
    """Return the folder of the corpus of a demonstration, next to its run."""
    return folder.parent / f"{folder.name}-text"


def remove_demo(folder: Path) -> None:
    """Remove an earlier demonstration, and nothing else.

    Raises RunError if the folder holds something else, or another process trains in it.
    """
    if not folder.exists():
        return
    record = folder / "config.toml"
    ours = record.is_file() and NAME in record.read_text(encoding="utf-8")
    if not ours:
        raise RunError(
            f"The folder {folder} holds something that is not a demonstration.",
            "Choose another folder with --out.",
        )
    _check_text_folder(text_folder(folder))
    run = RunFolder(folder)
    if strangers := [path for path in run.strangers() if path.name != _PICTURE]:
        raise RunError(
            f"{strangers[0]} is not of the demonstration, and would be removed with it.",
            "Move it elsewhere, or choose another folder with --out.",
        )
    with run.locked():
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path != run.lock:  # Windows removes no file that is open
                path.unlink()
    shutil.rmtree(folder)
    shutil.rmtree(text_folder(folder), ignore_errors=True)


def _check_text_folder(text: Path) -> None:
    """Refuse a folder that holds more than a demonstration's corpus."""
    ours = {f"{split}.{suffix}" for split in _SPLITS for suffix in ("ko", "en")}
    if text.exists() and (not text.is_dir() or {path.name for path in text.iterdir()} - ours):
        raise RunError(
            f"{text} is where the corpus goes, but it holds something else.",
            "Choose another folder with --out.",
        )


def demo_config(text: Path, examples: Sequence[str] = ()) -> RunConfig:
    """Return the configuration of the demonstration on the corpus in the folder `text`.

    examples: sentences for the explorer to offer.
    """
    return RunConfig(
        recipe=Recipe(
            name=NAME,
            description="Trained on the sentences that Headway's built-in grammar generates.",
            data_source="generated by headway.sample_corpus",
            licence="MIT, as Headway",
            examples=list(examples),
        ),
        data=DataConfig(
            directory=str(text),
            source="train.ko",
            target="train.en",
            valid_source="valid.ko",
            valid_target="valid.en",
            test_source="test_unseen.ko",
            test_target="test_unseen.en",
            source_language="Korean",
            target_language="English",
        ),
        tokenizer=TokenizerConfig(kind="bpe", vocabulary_size=3200),
        model=Architecture(
            d_model=128,
            d_ff=512,
            num_heads=4,
            num_encoder_layers=2,
            num_decoder_layers=2,
        ),
        training=TrainingConfig(
            batch_tokens=2048,
            schedule="cosine",
            learning_rate=0.003,
            warmup_steps=200,
            max_steps=2200,
            clip_norm=1.0,
            validation_sentences=200,
            average_checkpoints=3,
        ),
        decoding=DecodingConfig(beam_size=4),
        evaluation=EvaluationConfig(metrics=["bleu", "chrf", "exact"]),
    )


def run_demo(
    out: str | Path, *, resume: bool = False, device: str = "auto", reporter: Reporter | None = None
) -> DemoResult:
    """Train, evaluate on both test sets, translate ten held-out sentences and draw attention.

    Writes a run into `out`, with `report.json` and `attention.png`, and the corpus next to it.
    """
    started = time.perf_counter()
    reporter = reporter or Reporter()
    folder = expanded(out)
    corpus = build_sample_corpus()
    text = text_folder(folder)
    if not resume:
        RunFolder(folder).check_free()
    write_corpus(corpus, text)
    first = [SamplePair(korean, english, "first") for korean, english in FIRST_SENTENCES]
    held_out = corpus.test_unseen[:_OFFERED]
    config = demo_config(text, [pair.korean for pair in (*first, *held_out)])
    result = train(config, folder, resume=resume, device=device, reporter=reporter)
    if not result.finished:
        return DemoResult(folder, {}, [])
    calibrate(folder, corpus, device)
    translator = load(folder, device, precision="float32")  # it is scored
    unseen = _translate(translator, corpus.test_unseen)
    compositional = _translate(translator, corpus.test_compositional)
    chrf = score_texts(
        [example.translation for example in unseen],
        [example.reference for example in unseen],
        ["chrf"],
    )[0]
    picture = draw_attention(translator, PICTURED_SENTENCE, folder / _PICTURE, reporter)
    report = result.report | {
        "exact_match_unseen": _exact(unseen),
        "exact_match_compositional": _exact(compositional),
        "chrf": chrf.value,
        "chrf_signature": chrf.signature,
        "flagged_unseen": _flagged(unseen),
        "flagged_compositional": _flagged(compositional),
        "picture": picture,
        "seconds": round(time.perf_counter() - started, 1),
        "training_seconds": round(result.seconds, 1),
    }
    write_atomically(
        folder / "report.json",
        (to_json(report, indent=2) + "\n").encode(),
    )
    shown = [*_translate(translator, first), *unseen[:TRANSLATIONS_SHOWN]]
    (beyond,) = _translate(translator, [SamplePair(BEYOND, "", "")])
    return DemoResult(folder, report, shown, beyond)


def calibrate(folder: Path, corpus: SampleCorpus, device: str = "auto") -> None:
    """Measure what the model knows, on sentences of the grammar that are in no split.

    The limits are kept in the bundle whose weights do better, which is the one that is used.
    """
    place = find_bundle(folder)
    bundle = load_bundle(place, resolve_device(device))  # of its own memory: the files change
    splits = (getattr(corpus, split) for split in _SPLITS)
    used = {pair.korean for split in splits for pair in split}
    fresh = (pair.korean for pair in more_sentences(_CALIBRATING_SEED))
    unused_texts = list(islice((text for text in fresh if text not in used), CALIBRATING))
    training = [pair.korean for pair in corpus.train]
    limits = measured_familiarity(Translator(bundle), training, unused_texts)
    save_bundle(place, replace(bundle, record=bundle.record | {FAMILIARITY: limits}))


def write_corpus(corpus: SampleCorpus, folder: Path) -> None:
    """Write each split as two aligned text files, `train.ko` and `train.en` and so on."""
    _check_text_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in _SPLITS:
        pairs: Sequence[SamplePair] = getattr(corpus, name)
        for suffix, lines in (
            ("ko", [pair.korean for pair in pairs]),
            ("en", [pair.english for pair in pairs]),
        ):
            text = "".join(line + "\n" for line in lines)
            write_atomically(folder / f"{name}.{suffix}", text.encode())


def draw_attention(
    translator: Translator, sentence: str, path: Path, reporter: Reporter
) -> str | None:
    """Draw the last layer's cross-attention for a sentence and its translation.

    Returns the file's name; without matplotlib it returns None and reports that.
    """
    try:
        trace_attention(translator.trace(sentence, record="attention"), path)
    except MissingExtraError as error:
        reporter.say(str(error))
        return None
    return path.name


def _translate(translator: Translator, pairs: Sequence[SamplePair]) -> list[Example]:
    translations: list[Translation] = translator.translate(
        [pair.korean for pair in pairs], mend_runaways=False
    )
    return [
        Example(pair.korean, translation.text, pair.english, translation.unfamiliar_parts > 0)
        for pair, translation in zip(pairs, translations, strict=True)
    ]


def _exact(examples: Sequence[Example]) -> float:
    return sum(example.right for example in examples) / len(examples)


def _flagged(examples: Sequence[Example]) -> float:
    return sum(example.unfamiliar for example in examples) / len(examples)
