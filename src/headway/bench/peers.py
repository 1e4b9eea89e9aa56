"""The peers: Transformers of other libraries, unchanged, in a plain loop of PyTorch.

Their dropout is their own: nn.Transformer also has it on attention weights and on the hidden layer.
The loss is `F.cross_entropy` on all logits.
"""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headway.bench.work import (
    RATE,
    SIZES,
    VOCABULARY,
    Size,
    Task,
    Work,
    finished,
    set_threads,
)
from headway.data.tokenizer import END_ID, PAD_ID, START_ID
from headway.errors import MissingExtraError
from headway.training.objective import autocast

Logits = Callable[[Tensor, Tensor], Tensor]


def peer_step(threads: int | None, task: Task, peer: str, precision: str) -> Work:
    """Prepare one step of a peer: forward, loss, backward, Adam."""
    set_threads(threads)
    model, logits_of = PEERS[peer](SIZES[task.size])
    model.to(task.device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98))
    source = torch.randint(4, VOCABULARY, (task.sentences, task.length), device=task.device)
    shape = task.sentences, task.length + 1
    target = torch.randint(4, VOCABULARY, shape, device=task.device)
    kind = torch.device(task.device).type

    def step() -> None:
        with autocast(precision, kind):
            logits = logits_of(source, target[:, :-1])
            loss = F.cross_entropy(
                logits.flatten(0, 1), target[:, 1:].flatten(), label_smoothing=0.1
            )
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return finished(task.device, step)


def build_marian(
    size: Size, vocabulary: int = VOCABULARY, *, dropout: float = 0.1, start_id: int = PAD_ID
) -> nn.Module:
    """Return a fresh MarianMTModel of transformers; MissingExtraError without it."""
    try:
        from transformers import MarianConfig, MarianMTModel
    except ImportError as error:
        raise MissingExtraError.of(
            "marian", "The peer 'marian' needs transformers, which is not installed."
        ) from error
    return MarianMTModel(
        MarianConfig(
            vocab_size=vocabulary,
            d_model=size.d_model,
            encoder_layers=size.num_layers,
            decoder_layers=size.num_layers,
            encoder_attention_heads=size.num_heads,
            decoder_attention_heads=size.num_heads,
            encoder_ffn_dim=size.d_ff,
            decoder_ffn_dim=size.d_ff,
            activation_function="relu",
            dropout=dropout,
            scale_embedding=True,
            max_position_embeddings=512,
            pad_token_id=PAD_ID,
            bos_token_id=START_ID,
            eos_token_id=END_ID,
            forced_eos_token_id=END_ID,
            decoder_start_token_id=start_id,
        )
    )


def marian_logits(model: nn.Module, source: Tensor, target: Tensor) -> Tensor:
    """Return the logits of the model, (B, S) (B, T) -> (B, T, V)."""
    seen = (source != PAD_ID).long()
    return model(source, seen, decoder_input_ids=target, use_cache=False).logits


def _marian(size: Size) -> tuple[nn.Module, Logits]:
    model = build_marian(size)
    return model, partial(marian_logits, model)


class _TorchTransformer(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, size.d_model)
        self.layers = nn.Transformer(
            size.d_model,
            size.num_heads,
            size.num_layers,
            size.num_layers,
            size.d_ff,
            batch_first=True,
        )

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        padding, length, device = source == PAD_ID, target.size(1), target.device
        hidden = self.layers(
            self.tokens(source),
            self.tokens(target),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(length, device=device),
            tgt_is_causal=True,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return F.linear(hidden, self.tokens.weight)


def _torch(size: Size) -> tuple[nn.Module, Logits]:
    model = _TorchTransformer(size)
    return model, model


PEERS: dict[str, Callable[[Size], tuple[nn.Module, Logits]]] = {
    "marian": _marian,
    "torch": _torch,
}
