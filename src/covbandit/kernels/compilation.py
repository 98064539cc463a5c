"""How kernels are compiled: once per machine, for one signature each, found again in a cache on disk.

Four facts about Numba shape this file.

* Its cache notices a changed file, but not a changed helper in *another* file. Therefore the cache lives in a folder
  named by a hash of all sources that hold kernels.
* A call with unforeseen argument types silently compiles a second version and does not cache it. Therefore each kernel
  has one declared signature, compiled at first use, after which compiling is switched off.
* `numba.config.CACHE_DIR` is global. It is set only while a kernel is being decorated, so other packages keep theirs.
* A kernel that calls another one contains that one's code again, and the compiler goes through all of it again. The
  large ones are therefore called by symbol (`separate`): compiled once, wherever they are called from.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import config as _numba_config

from covbandit.kernels.symbols import define, define_as_fatal, stand_in_for
from covbandit.sources import source_hash

config: Any = _numba_config  # its attributes are made at run time
P = ParamSpec("P")
R = TypeVar("R")

UNROLLED = 5
"""The number of options of all the paper's experiments. Kernels of which every simulated round is made take their size
as an argument and are called with this constant where it is the size: once inlined, their loops are unrolled, a fifth
of a round's time. Other sizes share the general code; a copy per size would cost every user a second of compilation."""

_HOLD_KERNELS = ("kernels", "learners", "simulation/driver.py")
_lock = threading.RLock()
_signatures: dict[int, Any] = {}
_kernels: list[Any] = []
_on_demand: set[int] = set()
_not_kept: set[int] = set()  # those for which no folder on disk is writable
_callbacks: dict[int, Any] = {}
_separate: dict[int, Any] = {}  # dispatchers that are called by symbol, by the id of what stands for them in kernels
_symbols: set[str] = set()


def _user_cache() -> Path:
    named = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    if named and sys.platform != "darwin":
        return Path(named)
    try:
        home = Path.home()
    except RuntimeError:  # the user has no home folder: nothing can be kept, and kernels are compiled in every process
        return Path(os.devnull) / "no home folder"
    if sys.platform == "win32":
        return home / "AppData" / "Local"
    return home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"


def cache_directory() -> Path:
    """Return the folder in which compiled kernels of exactly these sources are kept."""
    root = os.environ.get("NUMBA_CACHE_DIR")
    base = Path(root) if root else _user_cache() / "covbandit"
    return base / f"covbandit-{source_hash(_HOLD_KERNELS)}"


_directory = cache_directory()


def kernel(signature: object = None, on_demand: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function as a kernel, to be compiled by Numba at first use.

    Parameters
    ----------
    signature
        A Numba signature, for kernels called from Python. Helpers that only other kernels call need none.
    on_demand
        No simulation calls it, so it is not compiled ahead for one.

    Returns
    -------
    callable
        A decorator that returns a Numba dispatcher. Call it from Python through `ready`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        # Kernels neither allocate nor keep arrays, so they need no reference counting, which at d = 5 would take a
        # fifth of the time of a simulation step.
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
        if signature is None:
            # A helper of other kernels: inlined, since passing the many fields of arrays would cost more than its work,
            # and without the entry points for Python and C, which take time to compile.
            options |= {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        with _lock:
            previous = config.CACHE_DIR
            config.CACHE_DIR = str(_directory)
            try:
                dispatcher = numba.njit(cache=True, **options)(function)
            except (RuntimeError, OSError):  # nothing is writable: compile in every process
                dispatcher = numba.njit(**options)(function)
                _not_kept.add(id(dispatcher))
            finally:
                config.CACHE_DIR = previous
            if signature is not None:
                _signatures[id(dispatcher)] = signature
                _kernels.append(dispatcher)
                if on_demand:
                    _on_demand.add(id(dispatcher))
        return cast("Callable[P, R]", dispatcher)

    return decorate


def ready(dispatcher: Callable[P, R]) -> Callable[P, R]:
    """Return the kernel, compiled (or loaded from the cache) for its one signature."""
    compiled = cast("Any", dispatcher)
    if compiled._can_compile:
        with _lock:
            if compiled._can_compile:
                for callee in _called_by_symbol(compiled):
                    _register(callee)
                compiled.compile(_signatures[id(dispatcher)])
                compiled.disable_compile()
    return dispatcher


def separate(dispatcher: Callable[P, R]) -> Callable[P, R]:
    """Return a stand-in for a kernel with a signature, by which other kernels call it without containing its code.

    For kernels of some size: the call itself takes a few nanoseconds more. Python calls the kernel itself.
    """
    stand_in = stand_in_for(_symbol(dispatcher), _signatures[id(dispatcher)])
    _separate[id(stand_in)] = dispatcher
    return cast("Callable[P, R]", stand_in)


def _symbol(dispatcher: Any) -> str:
    return f"{_name(dispatcher)}.{_directory.name}"


def _register(dispatcher: Any) -> None:
    """Compile a kernel and tell the linker its address, before anything that calls it by symbol is loaded."""
    symbol = _symbol(dispatcher)
    if symbol not in _symbols:
        (result,) = ready(dispatcher).overloads.values()  # type: ignore[attr-defined]
        define(symbol, result)
        _symbols.add(symbol)


def _called_by_symbol(dispatcher: Any) -> Iterator[Any]:
    """Yield the kernels that a kernel calls by symbol, itself or in helpers that it contains."""
    function = dispatcher.py_func
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if id(value) in _separate:
            yield _separate[id(value)]
        elif isinstance(value, numba.core.dispatcher.Dispatcher):
            yield from _called_by_symbol(value)


def callback(dispatcher: Callable[P, R]) -> Callable[P, R]:
    """Return the compiled kernel in the form in which another kernel takes it as an argument.

    A dispatcher would do as well, but Numba looks up its address anew in every call, which takes 0.1 ms.
    """
    compiled = cast("Any", ready(dispatcher))
    if id(dispatcher) not in _callbacks:
        (result,) = compiled.overloads.values()
        _callbacks[id(dispatcher)] = numba.types.CompileResultWAP(result)
    return cast("Callable[P, R]", _callbacks[id(dispatcher)])


def names_of_kernels(everything: bool) -> list[str]:
    """Return the names of the kernels imported so far; without `everything`, not of those compiled on demand."""
    return [_name(dispatcher) for dispatcher in _kernels if everything or id(dispatcher) not in _on_demand]


def names_not_cached(names: list[str]) -> list[str]:
    """Return those of the kernels named that no process has compiled yet; none if nothing can be kept on disk."""
    files = {path.name.split("-")[0] for path in _directory.rglob("*.nbc")}  # Numba names them by module and function
    return [
        name
        for name in names
        if id(_kernel_named(name)) not in _not_kept and ".".join(name.split(".")[-2:]) not in files
    ]


def compile_for_use(name: str) -> None:
    """Compile a kernel and all that it calls, or load them from the cache."""
    ready(_kernel_named(name))


def compile_for_cache(name: str) -> None:
    """Compile a kernel for other processes to find: in this one it cannot be called.

    What it calls by symbol is not compiled with it, so that processes can share the work in any order. The linker wants
    an address for each symbol all the same, and gets one that ends the process.
    """
    dispatcher = _kernel_named(name)
    for callee in _called_by_symbol(dispatcher):
        define_as_fatal(_symbol(callee))
    dispatcher.compile(_signatures[id(dispatcher)])


def _name(dispatcher: Any) -> str:
    return f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__name__}"


def _kernel_named(name: str) -> Any:
    return next(dispatcher for dispatcher in _kernels if _name(dispatcher) == name)
