"""The model that a run begins with, and what the text must be for it."""

from contextlib import nullcontext

import torch

from headway.bundle import Bundle
from headway.config.model import Architecture
from headway.config.run import RunConfig
from headway.data.tokenizer import Tokenizer
from headway.errors import ConfigError
from headway.model.transformer import Transformer
from headway.training.encode import EncodedTexts
from headway.training.random_numbers import fresh_weights, seed_random
from headway.training.settings import check_sharing


def build_bundle(
    config: RunConfig,
    source: Tokenizer,
    target: Tokenizer,
    device: torch.device,
    *,
    shared: bool = False,
) -> Bundle:
    """Build a freshly initialized model for these tokenizers, with the run's defaults.

    shared: draw from the default generators, from which a user's own parts go on drawing.
    """
    if source != target:
        check_sharing(config)
    seed = config.training.seed
    if shared:
        seed_random(device, seed)
    model_config = config.model.with_vocabulary(source.vocabulary_size, target.vocabulary_size)
    # A sentence longer than any in training is split: the model has never seen its positions.
    tag = max((len(source.encode(tag)) for tag in config.data.tags), default=0)
    limit = min(config.decoding.max_source_pieces, config.data.max_pieces + tag)
    with nullcontext() if shared else fresh_weights(seed):
        model = Transformer.from_config(model_config)
    return Bundle(
        config=model_config,
        model=model.to(device),
        source_tokenizer=source,
        target_tokenizer=target,
        decoding=config.decoding.replace({"max_source_pieces": limit}),
        source_language=config.data.languages[0],
        target_language=config.data.languages[1],
    )


def check_positions(architecture: Architecture, encoded: EncodedTexts) -> None:
    """Refuse text that is longer than a learned table of positions."""
    if architecture.positions != "learned":
        return
    validated = (len(ids) for pair in encoded.valid for ids in pair[:2])
    # The start or end symbol has a position, too.
    longest = 1 + max([encoded.train.longest()[1], *validated])
    if longest > architecture.max_positions:
        raise ConfigError(
            f"model.max_positions is {architecture.max_positions}, but the longest sentence takes "
            f"{longest} positions.",
            f"Raise it to {longest}, or lower data.max_pieces to {architecture.max_positions - 1}.",
        )
