"""Inner loops for a CPU, compiled by Numba: those of decoding, and of training what is faster so.

Arrays are contiguous, and float32 unless said otherwise; bfloat16 is in uint16 (`bfloat16`). In
loops of decoding R rows are hypotheses, and what comes of a row does not depend, to the bit, on the
rows of other sentences; only `listed` takes two rows of one sentence together.

To read them, the language first: compiling, own_copies, and notice for who has to wait; vectors, in
whose words inner loops are put together; parts and threads, among which work is divided; arrays and
bfloat16.

- Decoding, from the top down: decoder; decoding_attention, out of attention_vectors, and norms;
  products of rows with weights of any kind; float_products and byte_products; words, which are
  multiplied by blocks, or by tile_products on tiles.
- Choosing pieces: logits, and listed where a sentence has a list of its own.
- Training: training_attention, losses, dropping (splitmix), rectifying; the gradients of
  projections in weight_gradient, weight_gradient_tiles and input_gradient.
"""

LANES = 16
"""Numbers of a vector in `vectors`."""
COLUMNS = 2 * LANES
"""What `weight_gradient`, `weight_gradient_tiles` and `input_gradient` take at a time."""
