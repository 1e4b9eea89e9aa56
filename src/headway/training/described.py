"""A bundle of a run with all that is known of it: record, card, and the shortlist it had."""

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headway.bundle import Bundle
from headway.config.run import RunConfig
from headway.data.shortlist import Shortlist
from headway.errors import BundleError
from headway.model.accounting import count_parameters
from headway.saved_bundle import BEST, saved_shortlist
from headway.training.card import write_card
from headway.training.checkpoint import Progress
from headway.training.run_folder import RunFolder
from headway.training.validation import ValidationResult


def best_so_far(
    judged: Bundle,
    result: ValidationResult,
    progress: Progress,
    folder: RunFolder,
    say: Callable[[str], None],
) -> Bundle:
    """Return weights that do better than all before, of a run that is not finished.

    The record of `judged`, which tells of the text, stays and grows.
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
    """Return the bundle with this record and a card that says the same.

    A shortlist that was learned stays: it depends on the tokenizers, not on the weights. path:
    where the bundle is to lie in the folder of the run.
    """
    card = write_card(RunConfig.parse(record["config"]), record)
    shortlist = None
    places = (path, *(other for other in (folder.averaged, folder.best) if other != path))
    for place in places:
        if (found := _learned(place, say)) is not None:
            shortlist, learned = found
            record = record | {"shortlist": learned}
            break
    return dataclasses.replace(bundle, record=record, card=card, shortlist=shortlist)


def _learned(place: Path, say: Callable[[str], None]) -> tuple[Shortlist, Any] | None:
    try:
        return saved_shortlist(place)
    except BundleError as error:  # what the training came to is not to be lost over it
        say(f"The shortlist in {place} is not kept: {error.message}")
        return None


def figures(result: ValidationResult) -> dict[str, Any]:
    """Return loss and scores of a validation as they are recorded; scores are in percent."""
    return {"loss": result.loss, "scores": result.scores}


def today() -> str:
    """Return the day as it is recorded."""
    return datetime.now(UTC).date().isoformat()
