"""Fine-tuning: begin with the architecture, tokenizers and weights of a trained model.

Optimizer, schedule and random generators are those of a new run. New pieces of the vocabulary get
new rows in the embeddings and the output. Each row starts as the mean of the rows of the pieces
into which the old tokenizer cuts the text of the new piece. So its logit is the mean of theirs, and
greedy search does not prefer it to all of them before it is trained. All other rows stay the same.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headway.bundle import (
    Bundle,
    Change,
    bundle_of,
    change_of,
    model_tensors,
)
from headway.config.data import OF_TRAINED_TOKENIZERS
from headway.config.model import Architecture
from headway.config.run import RunConfig
from headway.config.section import Section
from headway.counted import listed
from headway.data.scripts import script_of_language
from headway.data.tokenizer import PAD_ID, Tokenizer
from headway.data.trained_direction import TrainedDirection
from headway.data.vocabulary import Enlarged, add_pieces
from headway.errors import BundleError, ConfigError
from headway.hub import HubAddress, hub_address
from headway.model.transformer import Transformer
from headway.saved_bundle import read_bundle, which_weights

_DROPOUTS = {"dropout", "attention_dropout", "activation_dropout"}  # no weight depends on them
_NAMED = 10  # new pieces
_SOURCE_ROWS = ("source_embedding.tokens.weight",)
_TARGET_ROWS = (
    "target_embedding.tokens.weight",
    "output_projection.weight",
    "output_projection.bias",
)


@dataclass(frozen=True, slots=True)
class Start:
    """The parts of a trained model that a run starts with."""

    config: RunConfig
    """The run's configuration, completed by the settings of the model."""
    tokenizers: tuple[Tokenizer, Tokenizer]
    tensors: dict[str, Tensor]
    origin: dict[str, str]
    """The path of the bundle, and the checksum of its manifest."""
    messages: list[str]
    """Sentences for the user."""
    max_source_pieces: int
    """Tokens of a source that the model takes; the new one takes no fewer."""
    direction: TrainedDirection | None = None
    """The direction of the model; None if the tag of the new text is new to it."""
    change: Change | None = None
    """Puts parts that are not Headway's own into the new model."""
    learned: dict[str, bytes] = field(default_factory=dict)
    """Files of its shortlist and drafts, by name; none if the vocabulary has grown."""
    learned_record: dict[str, Any] = field(default_factory=dict)
    """The record of each."""

    def completed(self, model: Transformer) -> tuple[dict[str, Tensor], list[str]]:
        """Return the weights for a model with the user's own parts, and sentences for the user.

        Weights that the trained model lacks, or has in another shape, are those of `model`.
        """
        initial_tensors = model_tensors(model)
        copied_tensors = {
            name: tensor
            for name, tensor in self.tensors.items()
            if name in initial_tensors and initial_tensors[name].shape == tensor.shape
        }
        names = {
            "that begin as they were drawn": initial_tensors.keys() - copied_tensors.keys(),
            "of the trained model that are left out": self.tensors.keys() - copied_tensors.keys(),
        }
        messages = [
            f"Tensors {words}: {len(tensors)}, the first is {min(tensors)}."
            for words, tensors in names.items()
            if tensors
        ]
        return initial_tensors | copied_tensors, messages


def open_start(
    config: RunConfig, change: Change | None = None, *, trust_code: bool = False
) -> Start | None:
    """Read the model that the configuration starts from; return None if it names none.

    change: puts the user's own parts into the new model; a trained model that has such parts is
    read with it. trust_code: without a change, run the code that the trained model has. Raises
    ConfigError if the configuration describes another model.
    """
    if not config.training.start_from:
        return None
    saved = read_bundle(config.training.start_from)
    change = change or change_of(saved, trust_code=trust_code)
    bundle = bundle_of(saved, change=change if saved.changed else None)
    address = hub_address(config.training.start_from)
    place = str(HubAddress(address.repository, saved.folder.name) if address else saved.folder)
    origin = {"bundle": place, "checksum": saved.checksum}
    _check_vocabulary(bundle, origin["bundle"])
    resolved = _resolve(config, bundle, origin["bundle"])
    sides = [
        add_pieces(tokenizer, config.new_pieces)
        for tokenizer in (bundle.source_tokenizer, bundle.target_tokenizer)
    ]
    learned, learned_record = _learned(bundle)
    grown = any(side.new for side in sides)
    return Start(
        config=resolved,
        tokenizers=(sides[0].tokenizer, sides[1].tokenizer),
        tensors=_grown(model_tensors(bundle.model), sides[0].cuts, sides[1].cuts),
        origin=origin,
        messages=[
            *_messages(config, origin, sides),
            *_about_loss(config, resolved),
            *filter(None, [which_weights(Path(config.training.start_from))]),
            *_about_tags(bundle.tags, resolved),
            *_about_better(saved.folder, bundle.record),
            *_about_learned(learned, grown=grown),
        ],
        max_source_pieces=bundle.decoding.max_source_pieces,
        direction=_direction(bundle) if config.data.tag in bundle.tags else None,
        change=change,
        learned={} if grown else learned,
        learned_record={} if grown else learned_record,
    )


def inherit(config: RunConfig, begun: RunConfig) -> RunConfig:
    """Complete the configuration of a run by the one that it began with.

    So the file that began a run also continues it: a fine-tune without the trained model, another
    run with the size of the vocabulary that its text gave.
    """
    if not config.training.start_from:
        size = {"vocabulary_size": begun.tokenizer.vocabulary_size}
        tokenizer = config.tokenizer.model_copy(update=_unset(config.tokenizer, size))
        return config.model_copy(update={"tokenizer": tokenizer})
    return _filled(
        config,
        model=begun.model.model_dump(),
        tokenizer=begun.tokenizer.model_dump(include={"joint", "kind", *OF_TRAINED_TOKENIZERS}),
        languages=begun.data.languages,
        tag=begun.data.tag,
        decoding=begun.decoding.model_dump(),
        training=begun.training.model_dump(include={"label_smoothing"}),
    )


def _direction(bundle: Bundle) -> TrainedDirection:
    source, target = bundle.source_language, bundle.target_language
    scripts = (
        bundle.source_script or script_of_language(source),
        bundle.target_script or script_of_language(target),
    )
    return TrainedDirection((source, target), scripts)


def _check_vocabulary(bundle: Bundle, path: str) -> None:
    """Refuse tables unless they have a row for each piece of the tokenizers."""
    sizes = bundle.config.source_vocab_size, bundle.config.target_vocab_size
    pieces = len(bundle.source_tokenizer), len(bundle.target_tokenizer)
    if sizes != pieces or bundle.config.pad_id != PAD_ID:
        raise BundleError(
            f"{path} has tables of {sizes[0]} and {sizes[1]} rows for vocabularies of "
            f"{pieces[0]} and {pieces[1]} tokens, and padding {bundle.config.pad_id}.",
            f"Start from a model with a row for each token and padding {PAD_ID}.",
        )


def _resolve(config: RunConfig, bundle: Bundle, path: str) -> RunConfig:
    """Return the configuration with the model's architecture; ConfigError if it has another."""
    architecture = {key: getattr(bundle.config, key) for key in Architecture.model_fields}
    for key in sorted(config.model.model_fields_set - _DROPOUTS):
        if (requested := getattr(config.model, key)) != architecture[key]:
            raise ConfigError(
                f"model.{key} is {requested!r}, but the model in {path} has {architecture[key]!r}.",
                "Leave [model] and --preset out: the architecture is that of the model that "
                "training starts from, and only its dropout may be changed.",
            )
    tokenizer = config.tokenizer
    has = {"joint": bundle.joint, "kind": bundle.source_tokenizer.kind}
    for key in sorted(tokenizer.model_fields_set & has.keys()):
        if (requested := getattr(tokenizer, key)) != has[key]:
            raise ConfigError(
                f"tokenizer.{key} is {requested!r}, but that of {path} is {has[key]!r}.",
                "Leave it out: text must be cut as in the model's training. Use "
                "tokenizer.new_pieces to add tokens.",
            )
    if tokenizer.source_model or tokenizer.target_model:
        raise ConfigError(
            f"A tokenizer is given, but the tokenizer of {path} is used.",
            "Leave tokenizer.source_model and tokenizer.target_model out, or start_from.",
        )
    decoding = bundle.decoding.model_dump()
    # Unset, it is no limit: the text of the run and that of the model decide (`build_bundle`).
    longest = max(bundle.decoding.max_source_pieces, config.decoding.max_source_pieces)
    return _filled(
        config,
        model=architecture,
        tokenizer=has | _as_recorded(bundle),
        languages=(bundle.source_language, bundle.target_language),
        tag=bundle.tag,
        decoding=decoding | {"max_source_pieces": longest},
        training=_loss(bundle),
    )


def _loss(bundle: Bundle) -> dict[str, float]:
    """Return the label smoothing of the model's training, if its record has it.

    With another one, the loss first pulls all probabilities to where they never were.
    """
    trained = bundle.record.get("config", {}).get("training", {})
    values = [part.get("label_smoothing") for part in (bundle.record.get("imported", {}), trained)]
    known = [value for value in values if isinstance(value, int | float) and 0 <= value < 1]
    return {"label_smoothing": float(known[0])} if known else {}


def _as_recorded(bundle: Bundle) -> dict[str, Any]:
    """Return the settings that made the tokenizer of a model, as far as its record has them."""
    record = bundle.record.get("config", {}).get("tokenizer", {})
    recorded = {key: record[key] for key in OF_TRAINED_TOKENIZERS if key in record}
    return recorded | {"vocabulary_size": bundle.source_tokenizer.vocabulary_size}


def _filled(
    config: RunConfig,
    *,
    model: dict[str, Any],
    tokenizer: dict[str, Any],
    languages: tuple[str, str],
    tag: str,
    decoding: dict[str, Any],
    training: dict[str, Any],
) -> RunConfig:
    """Return the configuration with these values for its unset settings.

    Several corpora keep their own tags.
    """
    source, target = reversed(languages) if config.data.reverse else languages
    data = {"source_language": source, "target_language": target}
    data |= {} if config.data.corpora else {"tag": tag}
    decided = {
        "model": model, "tokenizer": tokenizer, "data": data, "decoding": decoding,
        "training": training,
    }  # fmt: skip
    sections: dict[str, Section] = {name: getattr(config, name) for name in decided}
    return config.model_copy(
        update={
            name: section.model_copy(update=_unset(section, decided[name]))
            for name, section in sections.items()
        }
    )


def _unset(section: Section, values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in section.model_fields_set}


def _messages(config: RunConfig, origin: dict[str, str], sides: Sequence[Enlarged]) -> list[str]:
    messages = [f"Starts from {origin['bundle']} (manifest {origin['checksum'][:12]})."]
    if unused := [f"tokenizer.{key}" for key in config.tokenizer.set_for_training]:
        messages.append(
            f"Not used, because the tokenizer is that of the model: {', '.join(unused)}."
        )
    joint = sides[0].tokenizer == sides[1].tokenizer
    names = ["the vocabulary"] if joint else ["the source vocabulary", "the target vocabulary"]
    for name, side in zip(names, sides, strict=False):
        if config.new_pieces:
            already_known = f"; there already: {', '.join(side.known)}" if side.known else ""
            messages.append(f"New tokens of {name}: {_counted(side.new)}{already_known}.")
    return messages


def _about_tags(tags: Sequence[str], config: RunConfig) -> list[str]:
    """Return a sentence on tags of the model that this text lacks."""
    lacking = [tag for tag in tags if tag and tag not in config.data.tags]
    if not lacking:
        return []
    return [
        f"The model was trained with {listed(lacking)} before its sources, too; this text has "
        f"{listed(config.data.tags) or 'no tags'}."
    ]


def _about_better(folder: Path, record: dict[str, Any]) -> list[str]:
    """Return a sentence if the run of these averaged weights has better ones."""
    best = folder.parent / "best"
    if not (record.get("best_is_better") and best.is_dir() and folder != best):
        return []
    return [
        f"On the validation text of its run, {best} does better than these averaged weights: "
        "rather start from it."
    ]


def _about_loss(config: RunConfig, resolved: RunConfig) -> list[str]:
    """Return a sentence if the loss of the model takes the place of the usual one."""
    smoothing = resolved.training.label_smoothing
    if smoothing == config.training.label_smoothing:
        return []
    return [f"training.label_smoothing is {smoothing:g}, as in the training of that model."]


def _learned(bundle: Bundle) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Return the files of the shortlist and the drafts of a bundle, and the record of each."""
    parts = {"shortlist": bundle.shortlist, "drafts": bundle.drafts}
    files = {name: part.to_bytes() for name, part in parts.items() if part is not None}
    return files, {name: bundle.record[name] for name in files if name in bundle.record}


def _about_learned(learned: Collection[str], *, grown: bool) -> list[str]:
    """Return a sentence on the shortlist and the drafts of the model, if it has any."""
    if not learned:
        return []
    commands = " and ".join(f"`headway {name}`" for name in learned)
    named = f"The model's {' and '.join(learned)}"
    named += " is" if list(learned) == ["shortlist"] else " are"
    if grown:
        return [
            f"{named} not kept, because the vocabulary has new tokens: use {commands} after the "
            "training."
        ]
    return [f"{named} kept; to learn from the new text instead, use {commands} after the training."]


def _counted(texts: Sequence[str]) -> str:
    """Return the number of new pieces and the first of them, which shows typing errors."""
    more = ", …" if len(texts) > _NAMED else ""
    return f"{len(texts)} ({', '.join(texts[:_NAMED])}{more})" if texts else "0"


def _grown(
    tensors: dict[str, Tensor],
    source_cuts: Sequence[Sequence[int]],
    target_cuts: Sequence[Sequence[int]],
) -> dict[str, Tensor]:
    """Return the weights with one more row for each cut; shared tables occur once."""
    sides = [(_SOURCE_ROWS, source_cuts), (_TARGET_ROWS, target_cuts)]
    cuts_by_name = {name: cuts for names, cuts in sides for name in names}
    return {
        name: grow(tensor, cuts_by_name[name]) if name in cuts_by_name else tensor
        for name, tensor in tensors.items()
    }


def grow(table: Tensor, cuts: Sequence[Sequence[int]]) -> Tensor:
    """Return the table (V, ...) with one more row for each cut, the mean of its rows."""
    means = [table[list(cut)].double().mean(dim=0).to(table.dtype) for cut in cuts]
    return torch.cat([table, torch.stack(means)]) if means else table
