"""Loops over flat arrays, compiled by Numba when they are first called, and kept on disk.

Numba keeps compiled loops beside the sources, or in the user's cache folder. Where neither can be written to, it
refuses to import them; then they are kept in a temporary folder that is the user's own. Whoever waits for a compilation
is told, once a process, by the logger ``etana.kernels``: without other settings of ``logging`` that is a line on
standard error.
"""

from etana.kernels._cache import tell_when_compiling, use_a_writable_folder

use_a_writable_folder()
tell_when_compiling()
