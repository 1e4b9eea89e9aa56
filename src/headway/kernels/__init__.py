"""Operations on arrays for a CPU, compiled by Numba: for decoding, and for training where they pay.

Kernels take arrays and know no layers. Arrays are contiguous, and float32 unless stated otherwise;
bfloat16 is in uint16. In kernels of decoding R rows are hypotheses, and the bits of a row's result
do not depend on the rows of other sentences; only `shortlist_rows` multiplies two rows of one
sentence together.

- `dispatch` chooses the implementation of each operation on this machine, and gives the reason.
- `codegen/` generates code: `numba_compiler` (with `compile_notice`), `together` for several
  processes, `vectors` for inner loops, `parallel`, `amx` and `bfloat16`; `addresses` and `calls`
  for arrays and kernels by address; `shared_words` and `tasks` for the second thread of
  `two_cores`. `arrays` and `threads` serve all kernels.
- Products: `linear` (rows times weights of any kind), `float_linear`, `quantized_linear`,
  `packing` (words of 32 bits), `linear_blocks` and, on AMX, `linear_amx`; for gradients
  `weight_gradient`, `weight_gradient_amx` and `input_gradient`; `row_buckets` for oneDNN.
- Operations of decoding: `search_loop` (with `drafts`), `encoder_pass`, `decoder_step`,
  `attention_step` (of `attention_vectors`), `recurrence_step`, `top_k`, `shortlist_rows`; of
  training: `attention`, `cross_entropy` and `elementwise` (dropout, with `splitmix`, and ReLU).
"""

LANES = 16
"""Numbers of a vector in `codegen.vectors`."""
COLUMNS = 2 * LANES
"""Columns that `weight_gradient`, `weight_gradient_amx` and `input_gradient` take at a time."""
