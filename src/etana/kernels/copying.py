"""Copying one array into another, and emptying one."""

from etana.kernels.compiling import njit

__all__ = ["clear", "copy"]


@njit(nogil=True, cache=True)
def copy(source, target):
    """target[: source.size] = source, both 1-D.

    Written out: with an assignment of arrays Numba compiles, for two seconds, the words that shapes do not match.
    """
    for i in range(source.size):
        target[i] = source[i]


@njit(nogil=True, cache=True)
def clear(array):
    """array[:] = 0, of a 1-D array."""
    for i in range(array.size):
        array[i] = 0
