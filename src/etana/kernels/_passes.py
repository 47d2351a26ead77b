"""What a kernel is spared of Numba's passes.

Types
    The same operators on the same types stand in every kernel, and Numba looks for what each of them means among all
    that it knows, every time. :class:`KnownTypes` looks once.
References
    Numba counts who holds an array, at each call for each array of each tuple: more than half of a loop that calls
    small kernels many times, on processors with several cores, and much to compile. A kernel that makes no array
    borrows those of its caller, who holds them until it returns: :class:`Borrow` finds these kernels, and nothing is
    counted in them.
Syntax
    Kernels have no closures, no comprehensions, no ``with``, no exceptions with arguments, and nothing that is decided
    by the value of a literal: the passes for these are left out.
"""

from __future__ import annotations

from types import BuiltinFunctionType
from typing import Any

from numba import types
from numba.core import typed_passes, untyped_passes
from numba.core.compiler_machinery import AnalysisPass, PassManager, register_pass
from numba.core.typing import Context

__all__ = ["Borrow", "KnownTypes", "spare"]

_SPARED = {
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.DeadBranchPrune,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.InlineInlinables,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.DumpParforDiagnostics,
}
# What gives a part of what there was, and nothing new.
_VIEWS = {"getitem", "static_getitem", "typed_getitem", "getiter", "iternext", "exhaust_iter", "pair_first", "cast"}


class KnownTypes(Context):
    """Numba's typing context, which remembers what operators and built-in functions mean for the types they met.

    Parameters
    ----------
    context : Context
        Who is asked for what is new.
    known : dict
        What was found; for kernels with the same flags, since functions may be compiled while types are looked for.
    """

    __slots__ = ("_context", "_known")

    def __init__(self, context: Context, known: dict) -> None:
        object.__setattr__(self, "__dict__", context.__dict__)  # all that it knows, as it changes
        self._context, self._known = context, known

    def resolve_function_type(self, func: Any, args: tuple, kws: Any) -> Any:
        """The signature of a call."""
        find = self._context.resolve_function_type
        if not isinstance(func, types.Function | BuiltinFunctionType):
            return find(func, args, kws)
        return self._look_up((id(func), *args, *dict(kws).items()), find, func, args, kws)

    def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
        """The signature of an assignment to an item."""
        return self._look_up(("=", target, index, value), self._context.resolve_setitem, target, index, value)

    def resolve_getattr(self, typ: Any, attr: str) -> Any:
        """The type of an attribute."""
        return self._look_up((".", typ, attr), self._context.resolve_getattr, typ, attr)

    def _look_up(self, key: tuple, find: Any, *asked: Any) -> Any:
        if key not in self._known:
            # What was asked is kept as well: an id is that of nothing else as long as its object lives.
            self._known[key] = find(*asked), asked
        return self._known[key][0]


@register_pass(mutates_CFG=False, analysis_only=True)
class Borrow(AnalysisPass):
    """Counts no references in a kernel that makes no array."""

    _name = "etana_borrow"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Looks at the types of all calls."""
        models = state.targetctx.data_model_manager

        def counted(typ: Any) -> bool:
            return isinstance(typ, types.Type) and models[typ].contains_nrt_meminfo()

        def makes_arrays(call: Any, signature: Any) -> bool:
            op = getattr(call, "op", "setitem")
            if counted(signature.return_type) and op not in _VIEWS:
                return True
            if op in _VIEWS or op == "setitem":
                # An array of indices picks what was not side by side; an array that is assigned may be copied first.
                return any(counted(given) for given in signature.args[1:])
            if op == "call" and _is_plain(state.typemap[call.func.name]):
                return False
            # What Numba does with an array may take room of its own.
            return any(counted(given) for given in (signature.recvr, *signature.args))

        calls = [(call, signature) for call, signature in state.calltypes.items() if signature is not None]
        if not counted(state.return_type) and not any(makes_arrays(*each) for each in calls):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        return False


def _is_plain(function: Any) -> bool:
    """Whether this is another kernel, which sees to itself, or asks for no more than a length."""
    return isinstance(function, types.Dispatcher) or getattr(function, "typing_key", None) is len


def spare(manager: PassManager) -> PassManager:
    """The same passes without those that a kernel does not need."""
    manager.passes = [each for each in manager.passes if each[0] not in _SPARED]
    manager.add_pass_after(Borrow, typed_passes.AnnotateTypes)
    manager.finalize()
    return manager
