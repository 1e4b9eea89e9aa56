"""The inner loops of decoding on a CPU, compiled by Numba.

Arrays are float32 and contiguous unless said otherwise; caches may be of bfloat16 (`kept`). R rows
are hypotheses. What comes of a row does not depend, to the bit, on the rows of other sentences;
only `listed` takes two rows of one sentence together.
"""
