"""How every kernel is compiled.

No kernel is called from C, so that none needs an entry for it: such entries are a tenth of what a first fit waits for.
What is divided by zero becomes infinite or NaN, as in NumPy; a check before each division would cost time twice, when
a kernel is compiled and when it runs.
"""

from functools import partial

import numba

__all__ = ["njit"]

njit = partial(numba.njit, no_cfunc_wrapper=True)
