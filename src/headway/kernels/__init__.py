"""Operations on arrays for a CPU, compiled by Numba: for decoding, and for training where they pay.

Kernels know arrays and no layers. Arrays are contiguous, and float32 unless said otherwise;
bfloat16 is in uint16. In kernels of decoding R rows are hypotheses, and the result of a row does
not depend, to the bit, on the rows of other sentences; only `shortlist_rows` takes two rows of one
sentence together.

- `codegen/`, the language: `numba_compiler` (with `private_callees` and `compile_notice`),
  `vectors`, in which inner loops are written, `parallel`, `amx` and `bfloat16`. Beside it `arrays`
  and `threads`.
- Products: `linear` (rows times weights of any kind), `float_linear`, `quantized_linear`,
  `packing` (words of 32 bits), `linear_blocks` and, on AMX, `linear_amx`; of gradients
  `weight_gradient`, `weight_gradient_amx` and `input_gradient`; `row_buckets` for oneDNN.
- Operations of decoding: `decoder_step`, `attention_step` (of `attention_vectors`), `layer_norm`,
  `top_k`, `shortlist_rows`; of training: `attention`, `cross_entropy`, `dropout` (`splitmix`) and
  `relu`.
"""

LANES = 16
"""Numbers of a vector in `codegen.vectors`."""
COLUMNS = 2 * LANES
"""Columns that `weight_gradient`, `weight_gradient_amx` and `input_gradient` take at a time."""
