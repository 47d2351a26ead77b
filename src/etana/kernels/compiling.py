"""How every kernel is compiled.

A kernel has two faces. Called from Python it is compiled in full: linked with all that it calls, optimised as a whole,
turned into machine code behind an entry for Python, and kept on disk. Called by another kernel it is a *part* of that
one: typed and lowered once a process, and then linked. Left to itself, Numba optimises each part, makes machine code
of it and an entry for Python, and optimises it once more within each kernel above it: half of what a first fit waits
for.

No kernel is called from C, so that none needs an entry for it. What is divided by zero becomes infinite or NaN, as in
NumPy; a check before each division would cost time twice, when a kernel is compiled and when it runs. What Numba does
for a function and a kernel does not need is left out (:mod:`etana.kernels._passes`).

This reaches into Numba's compiler, which is no contract. A version of Numba that it was not tried with compiles kernels
in its own way: the same loops, and a longer first fit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

import numba
from numba import config, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher
from numba.core.targetconfig import ConfigStack

from etana.kernels._loops import LoopFiles

__all__ = ["Kernel", "PartCompiler", "knows_numba", "njit"]

_OLDEST, _NEWEST = (0, 61), (0, 68)  # versions of Numba that were tried

_ALWAYS = {"no_cfunc_wrapper": True, "error_model": "numpy"}


def knows_numba(version: str = numba.__version__) -> bool:
    """Whether parts can be linked with this version of Numba."""
    return _OLDEST <= tuple(int(part) for part in version.split(".")[:2]) <= _NEWEST


class _Library(JITCodeLibrary):
    """Code that is optimised once, when all of it is linked, and not function by function before."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._linking_libraries = self._link_parts(self._final_module)
        super().finalize()

    def _optimize_final_module(self) -> None:
        # Once, where Numba takes two turns: the first, which brings counts of references together so that they can be
        # taken out, has little to do where kernels count none.
        passes = self._codegen._module_pass_manager()
        manager, *builder = passes if isinstance(passes, tuple) else (passes,)
        manager.run(self._final_module, *builder)

    def _link_parts(self, module: Any) -> list:
        """Link the parts that are called, and those that they call, each once; returns the other libraries."""
        found: dict = {}
        new = list(self._linking_libraries)
        while new:
            library = new.pop()
            if library in found:
                continue
            found[library] = not isinstance(library, _Part)
            if isinstance(library, _Part):
                module.link_in(library._final_module, preserve=True)
                new += library._linking_libraries
        return [library for library, other in found.items() if other]


class _Part(_Library):
    """Code that waits to be linked into that of a kernel, and is nothing by itself."""

    def finalize(self) -> None:
        # What several kernels link may be defined several times; nobody but them calls it.
        for function in self._final_module.functions:
            if not function.is_declaration:
                function.linkage = "linkonce_odr"
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """All that a function needs which calls the part and is no kernel."""
        module = self._final_module.clone()
        for library in self._link_parts(module):
            module.link_in(library._get_module_for_linking(), preserve=True)
        return module

    @property
    def codegen(self) -> _Part:
        return self

    def set_env(self, name: str, env: Any) -> None:
        """Nothing: what a function keeps for Python's sake has its place in machine code, and parts keep nothing."""

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0


class _KernelCompiler(Compiler):
    """Those of Numba's passes that a kernel needs, into a library of our own."""

    library_class: type[_Library] = _Library
    known: ClassVar[dict] = {}  # by flags, for all kernels

    def define_pipelines(self) -> list:
        """The passes, with a library to fill."""
        # Here, and not above: a version of Numba that was not tried may not have all the passes named there.
        from etana.kernels._passes import KnownTypes, spare

        state = self.state
        state.library = self.library_class(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        # Flags that Numba's own functions are compiled by below this kernel: the same for all kernels, else each of
        # them would be compiled twice.
        flags = ConfigStack().top()
        flags.forceinline = False
        state.typingctx = KnownTypes(state.typingctx, self.known.setdefault(flags, {}))
        return [spare(passes) for passes in super().define_pipelines()]


class PartCompiler(_KernelCompiler):
    """The same for a part, without an entry for Python."""

    library_class = _Part

    def define_pipelines(self) -> list:
        """The passes, with the entry left out."""
        self.state.flags.no_cpython_wrapper = True
        return super().define_pipelines()


class Kernel(CPUDispatcher):
    """A compiled loop; what other kernels see of it is :attr:`part`."""

    def __init__(self, function: Callable, locals: dict | None = None, targetoptions: dict | None = None):
        super().__init__(function, locals or {}, targetoptions or {}, pipeline_class=_KernelCompiler)

    def enable_caching(self) -> None:
        """Keep what it is compiled to on disk, in files of our own where it is its source alone that makes it."""
        if self.py_func.__closure__ is None and os.path.exists(self.py_func.__code__.co_filename):
            self._cache = LoopFiles(self.py_func)
        else:
            super().enable_caching()

    def __reduce__(self) -> Any:
        """By its name, where it has one: who loads it uses the kernel that is there, and on disk."""
        module, name = self.py_func.__module__, self.py_func.__name__
        named = getattr(sys.modules.get(module), name, None) is self and module != "__main__"
        return (_named_kernel, (module, name)) if named else super().__reduce__()

    @cached_property
    def part(self) -> CPUDispatcher:
        """The loop for other kernels."""
        return CPUDispatcher(self.py_func, targetoptions=self.targetoptions, pipeline_class=PartCompiler)

    @property
    def _numba_type_(self) -> types.Dispatcher:
        return types.Dispatcher(self if self.is_compiling else self.part)  # what is being compiled calls itself


def _named_kernel(module: str, name: str) -> Kernel:
    return getattr(import_module(module), name)


def njit(cache: bool = False, **options: Any) -> Callable:
    """A decorator that makes a :class:`Kernel`; the options are those of ``numba.njit``."""

    def decorate(function: Callable) -> Any:
        if config.DISABLE_JIT:
            return function
        if not knows_numba():
            return numba.njit(cache=cache, **_ALWAYS, **options)(function)
        kernel = Kernel(function, targetoptions={"nopython": True, "boundscheck": None} | _ALWAYS | options)
        if cache:
            kernel.enable_caching()
        return kernel

    return decorate
