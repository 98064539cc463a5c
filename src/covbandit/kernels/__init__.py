"""Arrays in, arrays out. Compiled by Numba; knows no class of ours."""
