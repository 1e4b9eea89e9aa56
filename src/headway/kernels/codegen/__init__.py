"""Code generation: vectors for LLVM, compiled by Numba."""
