"""Numba loops over flat arrays; callers allocate the outputs."""
