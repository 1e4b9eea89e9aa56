"""The constants of SplitMix64 (Steele, Lea and Flood 2014), for kernels and for PyTorch.

Number i of a key is key + i * GAMMA, mixed: x becomes (x ^ x >> shift) * factor for each shift and
factor, and then x ^ x >> LAST_SHIFT. All numbers are unsigned, of 64 bits.
"""

GAMMA = 0x9E3779B97F4A7C15
MIXING = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
LAST_SHIFT = 31
