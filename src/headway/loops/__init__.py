"""Inner loops for a CPU, compiled by Numba: those of decoding, and of training what is faster so.

Arrays are contiguous, and float32 unless said otherwise; bfloat16 is in uint16 (`kept`). In loops
of decoding R rows are hypotheses, and what comes of a row does not depend, to the bit, on the rows
of other sentences; only `listed` takes two rows of one sentence together.
"""

LANES = 16
"""Numbers of a vector in `vectors`."""
COLUMNS = 2 * LANES
"""What `outer_products`, `outer_tiles` and `row_products` take at a time."""
