"""The Transformer of section 3 of the paper.

The reading order is attention, feed_forward, embedding, positional_encoding, residual, masks,
encoder, decoder, transformer. The other files are dropout, initialization, accounting and modes;
cache (decoding step by step); probe (names of intermediates); checks (of inputs); customized (parts
of your own); uninitialized (a model whose weights are read later). Training computes the same with
faster code: see `headway.training.accelerated`.

The letters of all shapes in the package follow. Counts are capital letters; widths have the names
of the paper.

    B  sentences in the batch          d_model  width of the residual stream
    T  target positions, the queries   d_ff     inner width of the feed-forward
    S  source positions, the keys      d_k, d_v width of a key and of a value, per head
    H  heads                           V        pieces in the vocabulary
    M  positions kept in a cache       K        hypotheses of a sentence (beam)
    L  positions of either side        d_in     width of a projection's input
    R  hypotheses of a decoding step   d_out    width of a projection's output
    N  rows of any sentences
    W  pieces in a sentence's shortlist
    U  pieces in any shortlist of the batch

In attention, T positions are queries and S positions are keys; in self-attention they are the same
positions. A mask is boolean and True where a query may attend.
"""

from headway.model import vector_math

vector_math.prepare()
