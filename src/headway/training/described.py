"""The bundle of a run with its record, its card, and the shortlist and drafts that it had."""

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import torch

from headway.bundle import Bundle
from headway.config.run import RunConfig
from headway.errors import HeadwayError
from headway.model.accounting import count_parameters
from headway.runtime.devices import processor
from headway.runtime.versions import installed_versions
from headway.saved_bundle import BEST, saved_learned
from headway.training.card import write_card
from headway.training.checkpoint import Progress
from headway.training.run_folder import RunFolder
from headway.training.validation import ValidationResult

Learned = tuple[dict[str, Any], dict[str, Any]]
"""A shortlist and drafts by name, and the record of each."""


def best_so_far(
    judged: Bundle,
    result: ValidationResult,
    progress: Progress,
    folder: RunFolder,
    say: Callable[[str], None],
) -> Bundle:
    """Return the bundle of weights that do better than all before, in an unfinished run.

    The record of `judged`, which describes the text, is extended.
    """
    config = judged.record.get("config", {})
    record = judged.record | {
        "weights": BEST,
        "steps": progress.step,
        "epochs": progress.epoch,
        "seed": config.get("training", {}).get("seed", 0),
        "precision": progress.precision,
        "target_tokens": progress.target_tokens,
        "seconds": round(progress.seconds, 1),
        "averaged_steps": [],
        "validation_loss": result.loss,
        "validation": {BEST: figures(result)},
        "best_step": progress.step,
        "parameters": count_parameters(judged.model),
        "machine": machine(next(judged.model.parameters()).device),
        "trained_on": today(),
        **folder.origin(),
        "config": config,
    }
    return described(judged, record, folder.best, folder, say)


def described(
    bundle: Bundle,
    record: dict[str, Any],
    path: Path,
    folder: RunFolder,
    say: Callable[[str], None],
) -> Bundle:
    """Return the bundle with this record and its card.

    A learned shortlist and counted drafts stay, because they depend on the tokenizers and not on
    the weights: those of a bundle of the run, or of the model that the run started from. path: the
    future folder of the bundle, in the folder of the run.
    """
    card = write_card(RunConfig.parse(record["config"]), record)
    sizes = bundle.config.source_vocab_size, bundle.config.target_vocab_size
    fields, records = _learned(partial(folder.learned, sizes), folder.path, say)
    record = record | records
    bundles = (path, *(bundle for bundle in (folder.averaged, folder.best) if bundle != path))
    for saved in bundles:
        learned, records = _learned(partial(saved_learned, saved), saved, say)
        if learned:
            fields, record = fields | learned, record | records
            break
    return dataclasses.replace(bundle, record=record, card=card, **fields)


def _learned(read: Callable[[], Learned], saved: Path, say: Callable[[str], None]) -> Learned:
    try:
        return read()
    except HeadwayError as error:  # which is no reason to lose the trained weights
        say(f"A shortlist or drafts in {saved} are not kept: {error.message}")
        return {}, {}


def figures(result: ValidationResult) -> dict[str, Any]:
    """Return loss and scores (in percent) of a validation for the record."""
    return {"loss": result.loss, "scores": result.scores}


def machine(device: torch.device) -> dict[str, Any]:
    """Return the machine and the versions that the bits of the weights depend on."""
    return {
        "processor": processor(device),
        "threads": torch.get_num_threads(),
        "versions": installed_versions(["headway", "torch", "numpy", "numba"]),
    }


def today() -> str:
    """Return the date for the record."""
    return datetime.now(UTC).date().isoformat()
