"""Checks of settings, whatever the text, before hours of preparation."""

import sys
from pathlib import Path

import torch

from headway.config.data import DataConfig
from headway.config.run import RunConfig, dump_run_config
from headway.config.training import TrainingConfig
from headway.counted import counted
from headway.data.hub import is_dataset
from headway.data.pair_rules import CleaningRules
from headway.data.sampling import check_sampled, check_samples
from headway.data.tokenizer import LEAST_COVERAGE, Tokenizer
from headway.data.vocabulary import check_pieces
from headway.errors import ConfigError
from headway.evaluation.metrics import score_texts
from headway.training.budget import USABLE_PAIRS
from headway.training.compiling import require_compiler
from headway.training.schedule import Schedule
from headway.training.tensorboard import require_tensorboard


def check_settings(config: RunConfig, device: torch.device) -> None:
    """Refuse settings that cannot train on this device, whatever the text."""
    training = config.training
    source = config.recipe.data_source
    if source and _reads_from_folder(config.data) and not Path(config.data.directory).is_dir():
        raise ConfigError(
            f"There is no folder {config.data.directory}, where the recipe expects its text.",
            f"Put it there (its origin: {source}), or say where it is with --set data.directory=…",
        )
    _check_names(config)
    _check_metrics(config)
    cleaning_rules(config.data)
    _check_tokenizer(config)
    if training.tensorboard:
        require_tensorboard()
    Schedule(
        training.schedule, 1.0, training.warmup_steps, training.max_steps, training.decay_steps
    )
    if training.compile:
        require_compiler(device)


def remarks(training: TrainingConfig, steps: int, pairs: int) -> list[str]:
    """Return remarks on settings that are possible but hardly intended in a run of these steps.

    pairs: of the training text, which may be too little for a new model.
    """
    sentences = []
    if pairs < USABLE_PAIRS and not training.start_from:
        sentences.append(
            f"{counted(pairs, 'training pair')}: too little text for a usable model, which learns "
            "it by heart. Give some thousand pairs of one kind, or fine-tune a trained model with "
            "--from."
        )
    if training.warmup_steps <= steps:
        return sentences
    reached = steps / training.warmup_steps
    about = "about " if steps < training.max_steps else ""  # if epochs end the run
    return [
        *sentences,
        f"The run has {about}{counted(steps, 'step')}, and training.warmup_steps is "
        f"{training.warmup_steps:,}: the rate ends at {reached:.0%} of its peak, and little is "
        "learned. Set training.warmup_steps to a tenth of the steps, say, or train longer.",
    ]


def _remedy_of_names() -> str:
    encoding = sys.getfilesystemencoding()
    if encoding == "utf-8":
        return "Rename that file."
    return f"Start Python with PYTHONUTF8=1: names of files are read as {encoding} here."


def _check_names(config: RunConfig) -> None:
    """Refuse names of files that cannot be written to config.toml."""
    for line in dump_run_config(config).splitlines():
        try:
            line.encode()
        except UnicodeEncodeError:
            raise ConfigError(
                f"A name in the configuration is not UTF-8: {line!a}.", _remedy_of_names()
            ) from None


def cleaning_rules(data: DataConfig) -> CleaningRules:
    """Return the rules for training text."""
    return CleaningRules(
        max_pieces=data.max_pieces,
        too_long=data.too_long,
        max_ratio=data.max_ratio,
        drop_duplicates=data.drop_duplicates,
        drop_identical=data.drop_identical,
        drop_copies=data.drop_copies,
        drop_exchanged=data.drop_exchanged,
        drop_number_mismatch=data.drop_number_mismatch,
        drop_url_mismatch=data.drop_url_mismatch,
        drop_markup_mismatch=data.drop_markup_mismatch,
        source_script=data.source_script,
        target_script=data.target_script,
    )


def _check_tokenizer(config: RunConfig) -> None:
    """Refuse early what `check_tokenizers` would refuse, as far as settings alone decide it."""
    tokenizer = config.tokenizer
    check_pieces(config.new_pieces)
    if tokenizer.source_model or config.training.start_from:
        return
    if tokenizer.character_coverage < LEAST_COVERAGE:
        raise ConfigError(
            f"tokenizer.character_coverage is {tokenizer.character_coverage}, but SentencePiece "
            f"takes {LEAST_COVERAGE} to 1.",
            "Use 1.0 for an alphabet and 0.9995 for thousands of rare characters.",
        )
    if tokenizer.sampling is not None:
        check_samples(tokenizer.kind)
    if not tokenizer.joint:
        check_sharing(config)


def check_tokenizers(config: RunConfig, source: Tokenizer, target: Tokenizer) -> None:
    """Refuse settings that do not fit the tokenizers, before hours of cutting text into pieces."""
    if config.tokenizer.sampling is not None:
        for side in (source, target):
            check_sampled(side)
    if not source.has_ids_of(target):
        check_sharing(config)


def check_sharing(config: RunConfig) -> None:
    """Refuse embeddings that are shared by different vocabularies."""
    if config.model.shared_embeddings == "all":
        raise ConfigError(
            "model.shared_embeddings is 'all', but the two sides have separate vocabularies.",
            "Set tokenizer.joint to true, or model.shared_embeddings to 'target' or 'none'.",
        )


def _reads_from_folder(data: DataConfig) -> bool:
    """Return True if any text is named by a path in the folder of the data."""
    corpora = [data, *data.corpora]
    names = [name for corpus in corpora for name in (corpus.source, corpus.target)]
    names += [data.valid_source, data.valid_target, data.test_source, data.test_target]
    return any(name and not is_dataset(name) and not Path(name).is_absolute() for name in names)


def _check_metrics(config: RunConfig) -> None:
    """Refuse a metric that validation cannot compute."""
    training, evaluation = config.training, config.evaluation
    score_texts(["a"], ["a"], evaluation.metrics, evaluation.bleu_tokenize)
    if training.best_metric != "loss" and not (
        training.best_metric in evaluation.metrics and training.validation_sentences
    ):
        raise ConfigError(
            f"best_metric is '{training.best_metric}', but validation does not compute it.",
            "Add it to evaluation.metrics and set training.validation_sentences above 0.",
        )
