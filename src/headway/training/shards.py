"""A model that does not fit into one process: each process holds a share of it.

Layers are gathered one after the other while they compute. Embeddings and output projection, which
may be one table, are gathered while the loss is computed. So the memory of a process must
hold its share of weights, gradients and optimizer, and in addition one layer and the tables.

Searches in different processes need different numbers of steps. Validation therefore gathers a
plain copy of the weights in each process and drops it afterwards. The copy takes a quarter of the
memory of weights, gradients and Adam's two moments without shards.
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
    """Refuse to divide a model in a single process, or a model changed by the user."""
    if config.shard and changed:
        raise ConfigError(
            "training.shard divides only Headway's own model, not a model with the parts of "
            "change=.",
            "Train with training.shard = false.",
        )
    if config.shard and world.size == 1:
        raise ConfigError(
            "training.shard is true, but there is only one process, so there is nothing to divide.",
            "Start several with torchrun (docs/en/howto/several-processes.md), or set "
            "training.shard=false.",
        )


def divide(world: World, model: Transformer, root: nn.Module) -> None:
    """Leave this process its share of the model; `root` is the module that is called."""
    world.divide(root, [*model.encoder.layers, *model.decoder.layers])


def unfilled(bundle: Bundle, device: torch.device) -> Bundle:
    """Return the bundle with a plain model, whose weights the caller sets."""
    return dataclasses.replace(bundle, model=empty_model(bundle.config, device))


def gathered(bundle: Bundle, world: World, device: torch.device) -> Bundle:
    """Return the bundle with a plain copy of its divided model; all processes call together."""
    plain = unfilled(bundle, device)
    shares = dict(bundle.model.named_parameters())
    with torch.no_grad():
        for name, parameter in plain.model.named_parameters():
            parameter.copy_(world.whole(shares[name]))
    return plain
