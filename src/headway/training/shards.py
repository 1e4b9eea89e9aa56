"""A model that does not fit into one process: each holds a share of everything that is trained.

Layers are gathered one after the other while they compute; embeddings and output projection, which
may be one table, while the loss does. So a process needs room for its share of weights, gradients
and optimizer, for one layer, and for the tables.

Searches ask for as many steps as their sentences need, and so no two processes for equally many.
Validation therefore gathers a plain copy of the weights in each process, and forgets it afterwards:
a quarter of what weights, gradients and Adam's two moments take without shards.
"""

import dataclasses

import torch
from torch import nn

from headway.bundle import Bundle
from headway.config.training import TrainingConfig
from headway.errors import ConfigError
from headway.model.transformer import Transformer
from headway.model.uninitialized import empty_model
from headway.training.distributed import World


def check_shard(config: TrainingConfig, world: World, *, changed: bool) -> None:
    """Refuse to divide a model among one process, or one that a user's own function changes."""
    if config.shard and changed:
        raise ConfigError(
            "training.shard divides Headway's own model, not one with parts of change=.",
            "Train with training.shard = false.",
        )
    if config.shard and world.size == 1:
        raise ConfigError(
            "training.shard is true, but there is one process, and nothing to divide among.",
            "Start several with torchrun (docs/several-processes.md), or set training.shard=false.",
        )


def divide(world: World, model: Transformer, root: nn.Module) -> None:
    """Leave this process its share of the model; `root` is the module that will be called."""
    world.divide(root, [*model.encoder.layers, *model.decoder.layers])


def unfilled(bundle: Bundle, device: torch.device) -> Bundle:
    """Return the bundle with a plain model, whose weights are yet to be set."""
    return dataclasses.replace(bundle, model=empty_model(bundle.config, device))


def gathered(bundle: Bundle, world: World, device: torch.device) -> Bundle:
    """Return the bundle with a plain copy of its divided model; all processes must ask at once."""
    plain = unfilled(bundle, device)
    shares = dict(bundle.model.named_parameters())
    with torch.no_grad():
        for name, parameter in plain.model.named_parameters():
            parameter.copy_(world.whole(shares[name]))
    return plain
