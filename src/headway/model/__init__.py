"""The Transformer, in the reading order of the paper's section 3.

Attention, feed-forward, embedding, positional_encoding, residual, masks, encoder, decoder,
transformer; beside them dropout, cache (decoding step by step), probe (names for intermediates),
initialization, accounting, checks (of inputs), modes, customized (parts of your own) and
uninitialized (a model whose weights are read later). A run computes the same faster: see
`headway.training.accelerated`.

One legend for every shape of the package. Counts are capital letters, widths keep the paper's
names:

    B  sentences in the batch          d_model  width of the residual stream
    T  target positions, the queries   d_ff     inner width of the feed-forward
    S  source positions, the keys      d_k, d_v width of a key and of a value, per head
    H  heads                           V        pieces in the vocabulary
    M  positions kept in a cache       K        hypotheses of a sentence (beam)
    L  positions of either side        d_in     width of what any projection is given
    R  hypotheses of a decoding step   d_out    width of what it returns
    N  rows, whatever sentences they are of
    W  pieces of a sentence's own list (a shortlist)
    U  pieces that are in any such list

In attention on its own, T positions ask and S positions answer; in self-attention they are the
same positions. A mask is boolean and True where a query may attend.
"""

from headway.model import vector_math

vector_math.prepare()
