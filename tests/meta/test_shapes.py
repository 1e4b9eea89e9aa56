"""The shapes in the signatures of the model are true: a checker reads them while it runs."""

import subprocess
import sys

PROGRAM = """
from jaxtyping import install_import_hook

with install_import_hook("headway.model", "beartype.beartype"):
    import torch
    from headway.config.model import ModelConfig
    from headway.model.attention import MultiHeadAttention, scaled_dot_product_attention
    from headway.model.cache import DecoderCache
    from headway.model.masks import padding_mask
    from headway.model.transformer import Transformer

variants = [
    {},
    {"norm_position": "pre", "activation": "swiglu", "d_k": 5, "d_v": 7, "output_bias": True},
    {"positions": "learned", "shared_embeddings": "none", "sinusoid_layout": "halved"},
    {"decoder_past": "ssru"},
]
for variant in variants:
    config = ModelConfig.parse({
        "d_model": 12, "d_ff": 19, "num_heads": 3, "num_encoder_layers": 1,
        "num_decoder_layers": 2, "source_vocab_size": 23, "target_vocab_size": 23, **variant,
    })
    model = Transformer.from_config(config)
    source, target = torch.randint(1, 23, (2, 9)), torch.randint(1, 23, (2, 8))
    model(source, target).sum().backward()
    mask = padding_mask(source)
    cache = DecoderCache(2)
    memory = model.eval().encode(source, mask)
    for position in range(3):
        model.decode(target[:, position : position + 1], memory, mask, cache)
        cache.reorder(torch.tensor([1, 0]))
q, k, v = torch.randn(3, 30, 128), torch.randn(3, 50, 128), torch.randn(3, 50, 256)
scaled_dot_product_attention(q, k, v)
scaled_dot_product_attention(q[0], k[0], v[0], torch.rand(30, 50) > 0.5)

import jaxtyping
try:
    Transformer.encode(model, source.float(), mask)
except jaxtyping.TypeCheckError:
    print("checked")
"""


def test_every_shape_in_a_signature_holds_while_the_model_runs() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == "checked\n"
