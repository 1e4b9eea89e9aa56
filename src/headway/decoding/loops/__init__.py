"""The inner loops of decoding on a CPU, compiled by Numba.

Arrays are float32 and contiguous unless said otherwise; caches may be of bfloat16 (`kept`). R rows
are hypotheses. Every loop works on one row at a time; only `multiply_rows` takes two together, so
that in float32 the last digit of a sum may depend on how many rows there are.
"""
