"""Names of other code for what Headway has, and the errors that translate them.

`headway.MultiHeadedAttention`, a name of the Annotated Transformer, raises an AttributeError that
says what Headway calls it and which difference matters. The rows of `ROWS` are also the tables of
`docs/en/names.md` and the lines "Elsewhere: …" of docstrings; tests compare them.
"""

import difflib
import sys
from importlib.machinery import PathFinder
from types import ModuleType
from typing import NamedTuple

KERAS = "headway.interop.keras"
PAGE = "docs/en/names.md"


class OtherNames(NamedTuple):
    """One thing of Headway, and names that it has in other code."""

    names: str
    """Names elsewhere, separated by spaces."""
    here: str
    """The name to use, with its module."""
    difference: str
    """The differences that matter: order of arguments, polarity, results. One or two sentences."""
    section: str
    """The heading of the page `names.md`, as an anchor."""


ROWS = (
    OtherNames(
        "ScaledDotProductAttention ScaleDotProductAttention DotProductAttention scaled_dot_product "
        "SDPA SPDA",
        "headway.scaled_dot_product_attention",
        "It is a function of (q, k, v, mask) that returns the output and the weights; True in a "
        "mask means may attend.",
        "attention",
    ),
    OtherNames(
        "attention_func",
        "headway.scaled_dot_product_attention",
        "True in its mask means may attend, where 1 meant hidden; -1e9 is not added to anything.",
        "attention",
    ),
    OtherNames(
        "attention",
        "headway.scaled_dot_product_attention",
        "It also returns the output and the weights, but its mask is boolean, so write mask == 1.",
        "attention",
    ),
    OtherNames(
        "ScaledDotProductAttention ScaleDotProductAttention attention_func SDPA SPDA "
        "scaled_dot_product_attention",
        f"{KERAS}.attention",
        "It is a function of (q, k, v, mask) that returns the output and the weights; True in a "
        "mask means may attend, where courses often have 1 for hidden.",
        "attention",
    ),
    OtherNames(
        "MultiHeadedAttention",
        "headway.MultiHeadAttention",
        "The width comes first, as in MultiHeadAttention(512, 8). It returns the output alone; "
        "headway.trace shows the weights.",
        "several-heads",
    ),
    OtherNames(
        "MultiheadAttention",
        "headway.MultiHeadAttention",
        "True in its mask means may attend, the opposite of torch.nn.MultiheadAttention. Batches "
        "come first, and the output is returned alone.",
        "several-heads",
    ),
    OtherNames(
        "MultiHeadAttentionLayer MultiHeadAttentionBlock MultiHeadSelfAttention",
        "headway.MultiHeadAttention",
        "Its arguments are (d_model, num_heads). It returns the output alone; headway.trace shows "
        "the weights.",
        "several-heads",
    ),
    OtherNames(
        "SelfAttention CrossAttention CausalSelfAttention GlobalSelfAttention BaseAttention",
        "headway.MultiHeadAttention",
        "One class serves all: attend(x, x, x) is self-attention, and attend(x, memory, memory) is "
        "cross-attention. The residual connection is apart, in headway.model.Residual.",
        "several-heads",
    ),
    OtherNames(
        "split_heads transpose_qkv transpose_output",
        "headway.MultiHeadAttention",
        "Its method `split` turns (B, L, H * d) into (B, H, L, d), and its `forward` joins the "
        "heads again.",
        "several-heads",
    ),
    OtherNames(
        "MultiHeadedAttention MultiheadAttention MultiHeadAttentionLayer split_heads",
        f"{KERAS}.MultiHeadAttention",
        'Its arguments are (d_model, num_heads). It is called with one dictionary, {"query": …, '
        '"key": …, "value": …, "mask": …}, and returns the output alone.',
        "several-heads",
    ),
    OtherNames(
        "masking1 create_padding_mask",
        "headway.padding_mask",
        "True means a real token, the opposite of that mask, where 1 means padding. It is boolean, "
        "and nothing is multiplied by -1e9.",
        "masks",
    ),
    OtherNames(
        "make_src_mask get_pad_mask make_pad_mask src_mask",
        "headway.padding_mask",
        "The polarity is the same, True = may attend, and the shape is (B, 1, 1, S).",
        "masks",
    ),
    OtherNames(
        "get_attn_pad_mask get_attn_padding_mask",
        "headway.padding_mask",
        "True means a real token, the opposite of that mask, and the shape is (B, 1, 1, S).",
        "masks",
    ),
    OtherNames(
        "key_padding_mask src_key_padding_mask tgt_key_padding_mask memory_key_padding_mask",
        "headway.padding_mask",
        "True means may attend, the opposite of PyTorch's mask. Pass padding_mask(ids), or "
        "~key_padding_mask[:, None, None].",
        "masks",
    ),
    OtherNames(
        "valid_lens sequence_mask masked_softmax",
        "headway.padding_mask",
        "It is made of ids. From lengths, use (torch.arange(S) < valid_lens[:, None])"
        "[:, None, None].",
        "masks",
    ),
    OtherNames(
        "attention_mask",
        "headway.padding_mask",
        "It is made of ids; an attention_mask of ones and zeros becomes "
        "attention_mask.bool()[:, None, None].",
        "masks",
    ),
    OtherNames(
        "masking1 create_padding_mask key_padding_mask",
        f"{KERAS}.padding_mask",
        "True means a real token, the opposite of that mask, and nothing is multiplied by -1e9.",
        "masks",
    ),
    OtherNames(
        "nopeak_mask make_no_peak_mask subsequent_mask get_subsequent_mask causal_mask "
        "get_causal_attention_mask",
        "headway.look_ahead_mask",
        "It is boolean with the same polarity, True = may attend, and has four axes, "
        "(1, 1, T, T). target_mask(ids) also hides padding.",
        "masks",
    ),
    OtherNames(
        "generate_square_subsequent_mask",
        "headway.look_ahead_mask",
        "It is boolean, True = may attend, where PyTorch's has 0.0 and -inf to add.",
        "masks",
    ),
    OtherNames(
        "create_look_ahead_mask get_attn_subsequent_mask",
        "headway.look_ahead_mask",
        "True means may attend, the opposite of that mask, where 1 means hidden.",
        "masks",
    ),
    OtherNames(
        "masking2 masing2 nopeak_mask subsequent_mask causal_mask create_look_ahead_mask "
        "get_causal_attention_mask target_mask",
        f"{KERAS}.look_ahead_mask",
        "It takes ids, not a length, because it also hides padding. True means may attend; many "
        "Keras courses have 1 for hidden.",
        "masks",
    ),
    OtherNames(
        "masking2 masing2",
        "headway.target_mask",
        "It hides the future and padding, and True means may attend, the opposite of that mask.",
        "masks",
    ),
    OtherNames(
        "make_std_mask make_trg_mask make_tgt_mask tgt_mask trg_mask",
        "headway.target_mask",
        "The polarity is the same, True = may attend. It hides padded keys, the columns, and its "
        "shape is (B, 1, T, T).",
        "masks",
    ),
    OtherNames(
        "create_mask create_masks attn_mask",
        "headway.target_mask",
        "That is the decoder's; the encoder and cross-attention take padding_mask(source_ids). "
        "True means may attend, everywhere.",
        "masks",
    ),
    OtherNames(
        "PositionWiseFCFeedForwardNetwork PositionWiseFFN PositionwiseFeedforwardLayer "
        "PoswiseFeedForwardNet FeedForward FeedForwardBlock FeedForwardNetwork FFN "
        "point_wise_feed_forward_network",
        "headway.PositionwiseFeedForward",
        "Its arguments are (d_model, d_ff). It is equation 2 alone; the residual connection is "
        "headway.model.Residual.",
        "feed-forward",
    ),
    OtherNames(
        "SublayerConnection ResidualConnection",
        "headway.model.Residual",
        "It is also called with (x, sublayer), but LayerNorm comes after the addition, as in the "
        "paper; norm_position='pre' is the other order.",
        "add-and-norm",
    ),
    OtherNames(
        "AddNorm AddAndNorm",
        "headway.model.Residual",
        "It is called with the sub-layer itself, residual(x, sublayer), and not with its output.",
        "add-and-norm",
    ),
    OtherNames(
        "LayerNorm LayerNormalization",
        "torch.nn.LayerNorm",
        "Headway has none of its own. The variance is divided by n, and epsilon 1e-5 is added "
        "before the root.",
        "add-and-norm",
    ),
    OtherNames(
        "Embeddings InputEmbeddings Embedder",
        "headway.model.TokenEmbedding",
        "The vocabulary comes first, TokenEmbedding(vocab_size, d_model), and it does not multiply "
        "by sqrt(d_model); headway.model.InputEmbedding does.",
        "embeddings-and-positions",
    ),
    OtherNames(
        "TransformerEmbedding PositionalEmbedding TokenAndPositionEmbedding "
        "EmbeddingsWithPositionalEncoding",
        "headway.model.InputEmbedding",
        "It multiplies by sqrt(d_model), adds the position and applies dropout. It is made of a "
        "TokenEmbedding and a SinusoidalPositionalEncoding.",
        "embeddings-and-positions",
    ),
    OtherNames(
        "PositionalEncoding PostionalEncoding PositionalEncoder",
        "headway.SinusoidalPositionalEncoding",
        "It is called with a length and returns rows to add, x + encode(x.size(1)). Dropout is in "
        "headway.model.InputEmbedding.",
        "embeddings-and-positions",
    ),
    OtherNames(
        "positional_encoding get_positional_encoding get_angles get_sinusoid_encoding_table "
        "position_encoding_init",
        "headway.sinusoid_table",
        "Its arguments are (length, d_model), and sines and cosines alternate, as in the paper.",
        "embeddings-and-positions",
    ),
    OtherNames(
        "PositionEmbedding LearnedPositionalEmbedding",
        "headway.model.LearnedPositionalEncoding",
        "Its arguments are (d_model, max_positions), and it is called with a length.",
        "embeddings-and-positions",
    ),
    OtherNames(
        "PositionalEmbedding SinusoidalPositionalEncoding positional_encoding get_angles",
        f"{KERAS}.PositionalEncoding",
        "Its arguments are (length, d_model), where length is that of the longest sentence. It "
        "adds the rows to its input.",
        "embeddings-and-positions",
    ),
    OtherNames(
        "TransformerEncoderLayer TransformerEncoderBlock TransformerBlock TransformerLayer "
        "EncoderBlock EncoderLayer encoder_layer",
        "headway.model.EncoderLayer",
        "It takes its parts, not sizes. headway.Transformer.from_config builds all layers from "
        "sizes.",
        "the-whole-model",
    ),
    OtherNames(
        "TransformerDecoderLayer TransformerDecoderBlock DecoderBlock DecoderLayer decoder_layer",
        "headway.model.DecoderLayer",
        "It takes its parts, not sizes. It is called with (x, memory, target_mask, source_mask); "
        "some have the two masks the other way round.",
        "the-whole-model",
    ),
    OtherNames(
        "TransformerEncoder Encoder encoder clones get_clones",
        "headway.model.Encoder",
        "It takes a list of layers, and vectors rather than ids. A post-norm stack ends without "
        "another LayerNorm.",
        "the-whole-model",
    ),
    OtherNames(
        "TransformerDecoder Decoder decoder",
        "headway.model.Decoder",
        "It takes a list of layers, and is called with (x, memory, target_mask, source_mask).",
        "the-whole-model",
    ),
    OtherNames(
        "EncoderDecoder make_model build_transformer Seq2Seq Seq2SeqTransformer transformer",
        "headway.Transformer",
        "headway.Transformer.from_config(headway.presets.base(vocab_size=37000)) builds it; it is "
        "called with ids and makes the masks itself.",
        "the-whole-model",
    ),
    OtherNames(
        "Generator ProjectionLayer fc_out OutputProjection",
        "headway.model.OutputProjection",
        "It returns logits, without log_softmax, and its weight may be the table of embeddings.",
        "the-whole-model",
    ),
    OtherNames(
        "EncoderLayer TransformerEncoderLayer TransformerEncoder",
        f"{KERAS}.encoder_layer",
        "It is a function of (d_ff, d_model, num_heads, dropout, name) that returns a keras.Model; "
        "`encoder` stacks them.",
        "the-whole-model",
    ),
    OtherNames(
        "DecoderLayer TransformerDecoderLayer TransformerDecoder",
        f"{KERAS}.decoder_layer",
        "It is a function of (d_ff, d_model, num_heads, dropout, name) that returns a keras.Model; "
        "`decoder` stacks them.",
        "the-whole-model",
    ),
    OtherNames(
        "Transformer",
        f"{KERAS}.transformer",
        "It is a function of sizes that returns a keras.Model, called with [ids, decoder_ids].",
        "the-whole-model",
    ),
    OtherNames(
        "nn layers Residual TokenEmbedding InputEmbedding LearnedPositionalEncoding",
        "headway.model",
        "It has every layer: from headway.model import TokenEmbedding, Residual.",
        "the-whole-model",
    ),
    OtherNames(
        "NoamOpt NoamLR rate lr_scheduler ScheduledOptim CustomSchedule",
        "headway.paper_rate",
        "It is a function of (step, d_model, warmup_steps) that returns the rate, and steps count "
        "from 1; torch.optim.lr_scheduler.LambdaLR makes a schedule of it.",
        "training",
    ),
    OtherNames(
        "NoamOpt CustomSchedule",
        f"{KERAS}.PaperSchedule",
        "Its arguments are (d_model, warmup_steps), as in TensorFlow's tutorial.",
        "training",
    ),
    OtherNames(
        "LabelSmoothing LabelSmoothingLoss cal_loss masked_loss loss_function MaskedSoftmaxCELoss",
        "headway.label_smoothed_cross_entropy",
        "It takes logits, not log-probabilities, and returns sums; divide by the number of labels "
        "that are not padding. Smoothing gives padding nothing.",
        "training",
    ),
    OtherNames(
        "masked_loss loss_function LabelSmoothing",
        f"{KERAS}.LabelSmoothedCrossEntropy",
        "It takes logits and returns the mean over labels that are not padding.",
        "training",
    ),
    OtherNames(
        "patch_trg Batch",
        "headway.data.batching.collate",
        "It makes source_ids, target_ids with the start symbol first, and label_ids with the end "
        "symbol last.",
        "training",
    ),
    OtherNames(
        "SOS_IDX BOS_IDX EOS_IDX PAD_IDX UNK_IDX",
        "headway.data.tokenizer",
        "PAD_ID is 0, UNK_ID 1, START_ID 2 (<s>, elsewhere <sos>) and END_ID 3 (</s>, elsewhere "
        "<eos>).",
        "training",
    ),
    OtherNames(
        "greedy_decode beam_search translate translate_sentence",
        "headway.load",
        "headway.load(folder).translate(text) searches with a beam; beam_size=1 is greedy.",
        "translating",
    ),
    OtherNames(
        "bleu get_bleu bleu_score compute_bleu",
        "headway.score_texts",
        "It takes detokenized texts, translations first, and computes BLEU and chrF with "
        "sacreBLEU.",
        "translating",
    ),
    OtherNames(
        "attn_weights attention_weights plot_attention_weights showgraph visualize_head",
        "headway.trace",
        "`with headway.trace(model) as seen:` records every intermediate, and seen['weights'] are "
        "those of an attention layer.",
        "translating",
    ),
)

ARGUMENTS = {
    "attn_dropout": "dropout",
    "d_feat": "d_model",
    "d_hid": "d_ff",
    "d_hidden": "d_ff",
    "d_inner": "d_ff",
    "dff": "d_ff",
    "dim_feedforward": "d_ff",
    "drop_prob": "dropout",
    "dropout_p": "dropout",
    "dropout_rate": "dropout",
    "embed_dim": "d_model",
    "ffn_hidden": "d_ff",
    "ffn_num_hiddens": "d_ff",
    "h": "num_heads",
    "head": "num_heads",
    "head_dim": "d_k",
    "heads": "num_heads",
    "hid_dim": "d_model",
    "hidden": "d_ff",
    "key_dim": "d_k",
    "max_len": "max_positions",
    "n_head": "num_heads",
    "n_heads": "num_heads",
    "nhead": "num_heads",
    "num_hiddens": "d_model",
    "pf_dim": "d_ff",
    "rate": "dropout",
    "size": "d_model",
    "units": "d_ff",
    "use_bias": "bias",
    "value_dim": "d_v",
    "vocab": "vocab_size",
}
"""Names of arguments of layers elsewhere, with the name here."""

INTERMEDIATES = {
    "K_feat": "projected_k",
    "K_split": "k",
    "Q_feat": "projected_q",
    "Q_split": "q",
    "V_feat": "projected_v",
    "V_split": "v",
    "attention": "weights",
    "attention_score": "weights",
    "attention_weights": "weights",
    "attn": "weights",
    "attn_output_weights": "weights",
    "attn_weights": "weights",
    "context": "heads",
    "p_attn": "weights",
    "x_raw": "heads",
    "x_rsh2": "concat",
}
"""Names of the intermediates of attention elsewhere, with the name in a trace."""


def missing(module: ModuleType, name: str) -> AttributeError | ImportError:
    """Return the error for a name that a package of Headway does not have.

    An AttributeError, as `__getattr__` must raise. The statement `from headway import name` would
    replace its text by "cannot import name", so that one gets an ImportError with the text.
    """
    start = f"module '{module.__name__}' has no attribute '{name}'"
    hint = _hint(module, name)
    if not hint:
        return AttributeError(start, name=name, obj=module)
    if sys._getframe(2).f_code.co_name == "_handle_fromlist":
        text = f"cannot import name '{name}' from '{module.__name__}'. {hint}"
        return ImportError(text, name=module.__name__, path=module.__file__)
    # Without the module, Python does not append a guess of its own.
    return AttributeError(f"{start}. {hint}", name=name, obj=None)


def _hint(module: ModuleType, name: str) -> str:
    """Return the name to use instead, in a sentence or two; "" for an unknown name."""
    if name.startswith("_") or PathFinder.find_spec(f"{module.__name__}.{name}", module.__path__):
        return ""  # The import of a submodule looks for an attribute first.
    public = {_plain(public_name): public_name for public_name in module.__all__}
    row = _row(name.lower(), module.__name__ == KERAS)
    if row is None:
        near = difflib.get_close_matches(_plain(name), public, n=1, cutoff=0.75)
        return f"Did you mean '{public[near[0]]}'?" if near else ""
    return f"Use {row.here}. {row.difference} See {PAGE}#{row.section}."


def _plain(name: str) -> str:
    return name.lower().replace("_", "")


def _row(name: str, keras: bool) -> OtherNames | None:
    """Return the row of a name in lower case; the Keras form has names of its own."""
    rows = [row for row in ROWS if name in row.names.lower().split()]
    return min(rows, key=lambda row: row.here.startswith(KERAS) != keras, default=None)
