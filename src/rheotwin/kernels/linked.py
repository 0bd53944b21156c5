"""Code that is merged into other code: machine code is made once, of all that a stage calls, after one optimisation.

By itself numba optimises every function alone and again in each of its callers, and makes machine code of each, which
nobody runs where compiled functions alone call it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import codegen, compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.typed_passes import NopythonRewrites

Emitter = Callable[[Any, Any, Sequence[Any]], Any]
"""(context, builder, arguments) -> answer: writes code."""
_codegen: Any = codegen
_compiler: Any = compiler


class _Callers:
    """Stands for the code generator of functions that have no machine code: there is nothing to tell them."""

    def __init__(self, real: Any) -> None:
        self.magic_tuple = real.magic_tuple

    def set_env(self, name: str, env: Any) -> None:
        """Python never calls them, so they need nothing of Python."""


class Linked(_codegen.JITCodeLibrary):  # type: ignore[misc]
    """The functions of a library and all they call, neither optimised nor made machine code."""

    @property
    def codegen(self) -> Any:
        """What machine code would need."""
        return _Callers(self._codegen)

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return that it has no address."""
        self._ensure_finalized()
        return 0

    def serialize_using_object_code(self) -> Any:
        """Return what is kept on disk."""
        return self.serialize_using_bitcode()


class Flags(_compiler.Flags):  # type: ignore[misc]
    """Options of a function. Every call in it asks whether they are those of another: numba reads them one by one."""

    __slots__ = ()

    def __hash__(self) -> int:
        """Return what all flags have: the hash of the names of the options."""
        return _HASH

    def __eq__(self, other: object) -> bool:
        """Tell whether the options are the same: those that neither sets are."""
        mine, theirs = self._values, getattr(other, "_values", None)
        if mine == theirs or theirs is None:
            return theirs is not None
        return all(getattr(self, name) == getattr(other, name) for name in mine.keys() | theirs.keys())


_HASH = hash(_compiler.Flags())


class Pipeline(_compiler.Compiler):  # type: ignore[misc]
    """Compiles a function that compiled functions alone call."""

    def __init__(self, typing: Any, target: Any, library: Any, kinds: Any, answer: Any, flags: Any, known: Any) -> None:
        super().__init__(typing, target, library, kinds, answer, Flags(flags), known)

    def define_pipelines(self) -> Any:
        """Return the passes without that which looks for expressions of whole arrays: all they do is in loops."""
        (manager,) = super().define_pipelines()
        manager.passes = [one for one in manager.passes if one[0] is not NopythonRewrites]
        return [manager]

    def compile_extra(self, function: Any) -> Any:
        """Compile a function."""
        self.state.library = Linked(self.state.targetctx.codegen(), function.__qualname__)
        return super().compile_extra(function)


def rebuilt(context: Any, library: Any, description: Any, environment: Any, signature: Any, *others: Any) -> Any:
    """Return what was compiled with `Pipeline` from what is kept of it."""
    name, _, bitcode = library
    linked = Linked(context.codegen(), name)
    linked._final_module = llvm.parse_bitcode(bitcode)
    linked._finalize_final_module()
    about = {"fndesc": description, "environment": environment, "signature": signature, "objectmode": False}
    about |= {"target_context": context, "typing_context": context.typing_context, "library": linked, "lifted": ()}
    about |= {"type_annotation": others[2], "reload_init": others[3], "referenced_envs": ()}
    return _compiler.compile_result(entry_point=context.get_executable(linked, description, environment), **about)


def compiled_for(function: Any, kinds: tuple[Any, ...]) -> Any:
    """Return what a compiled function is for arguments of these kinds."""
    function.compile(kinds)
    return function.overloads[kinds]


@cache
def machine() -> Any:
    """Return the code generator of the processor that numba compiles for."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    _, processor, features = cpu_target.target_context.codegen().magic_tuple()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=processor, features=features, opt=3, codemodel="jitdefault")


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Look for garbage in cycles one time in a hundred: numba makes hundreds of thousands of objects that stay."""
    usual = gc.get_threshold()
    gc.set_threshold(100_000, 50, 50)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


@global_compiler_lock
@_seldom_collected()
def object_code(body: Callable[[], tuple[Any, Emitter]], signature: Any, symbol: str) -> bytes:
    """Compile a function, whose only public symbol is `symbol`: the symbols it wants, a new line, its object code."""
    library, emit = body()
    context = cpu_target.target_context
    writer = context.codegen()
    module = writer._create_empty_module(symbol)
    builder = ir.IRBuilder(ir.Function(module, signature, symbol).append_basic_block())
    builder.ret(emit(context, builder, builder.function.args))
    made = llvm.parse_assembly(str(module))
    made.link_in(library._get_module_for_linking(), preserve=True)
    wanted = []
    for item in (*made.functions, *made.global_variables):
        if not item.is_declaration and item.name != symbol:
            item.linkage = "internal"
    passes, options = writer._module_pass_manager()
    passes.run(made, options)
    for item in (*made.functions, *made.global_variables):
        if item.name.startswith("numba.dynamic.globals"):
            raise RuntimeError(f"{symbol}: its code holds addresses of this process and cannot be kept")
        if item.is_declaration and not item.name.startswith("llvm."):
            wanted.append(item.name)
    made.verify()
    return " ".join(wanted).encode() + b"\n" + bytes(machine().emit_object(made))
