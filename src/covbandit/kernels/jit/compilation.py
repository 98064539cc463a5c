"""How kernels are compiled: once per machine, for one signature each, found again in a cache on disk.

Four facts about Numba shape this file.

* Its cache notices a changed file, but not a changed helper, or constant, in *another* file. Therefore each kernel is
  kept in a folder named by a hash of all that its code depends on, and no more: a change in one learner leaves the
  kernels of the others as they are.
* A call with unforeseen argument types silently compiles a second version and does not cache it. Therefore each kernel
  has one declared signature, compiled at first use, after which compiling is switched off.
* `numba.config.CACHE_DIR` is global. It is set only for the moment in which a kernel is told where it is kept, so
  other packages keep theirs.
* A kernel that calls another one contains that one's code again, and the compiler goes through all of it again. The
  large ones are therefore called by symbol (`out_of_line`), and compiled once for all callers. A symbol's name contains
  the hash of the kernel that is called, and a caller's hash covers that name: if the one changes, so does the other.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np
from numba.core import config as _numba_config
from numba.core.event import Listener, install_listener

from covbandit.core.fingerprints import function_hash, referred_to, remember, source_hash
from covbandit.kernels.jit.linking import define, define_as_fatal, external_call

config: Any = _numba_config  # its attributes are made at run time
P = ParamSpec("P")
R = TypeVar("R")

UNROLLED = 5
"""The number of options of all the paper's experiments. Kernels of which every simulated round is made take their size
as an argument and are called with this constant where it is the size: once inlined, their loops are unrolled, which
saves nearly half of a round's time. Other sizes share the general code; a copy per size would cost every user a second
of compilation."""

QUIET = "COVBANDIT_QUIET"
"""The environment variable that, set to anything but 0, keeps `compiled` from saying that it compiles."""

UNCOMPILED = os.environ.get("COVBANDIT_UNCOMPILED", "0") not in ("", "0")
"""Whether kernels run as the Python functions that they are made of, hundreds of times slower: for debuggers, and to
see which of their lines tests run. Numbers may differ in their last digits."""

_HOW_TO_COMPILE = ("kernels/jit/linking.py", "kernels/jit/views.py")
_OUTDATED_AFTER = 30 * 24 * 3600.0  # seconds for which compiled code of earlier sources is kept
_lock = threading.RLock()
_signatures: dict[int, Any] = {}
_kernels: list[Any] = []
_on_demand: set[int] = set()
_hashes: dict[Any, str] = {}
_kept: dict[Any, bool] = {}  # whether a kernel is kept on disk, once that was tried
_callbacks: dict[int, Any] = {}
_out_of_line: dict[int, Any] = {}  # dispatchers that are called by symbol, by the id of what stands for them in kernels
_symbols: set[str] = set()


class _Here(threading.local):
    """What holds in one thread."""

    may_compile = True


class _Notice:
    """Whether the notice about compilation has been written, and how many callers suppress it now."""

    written = False
    unwanted = 0


_here = _Here()
_notice = _Notice()


class CompilationNeeded(Exception):
    """A kernel would have to be compiled, or loaded, where that may not be done: see `nothing_compiles`."""

    def __init__(self, kernel: Any) -> None:
        super().__init__(f"{_name(kernel)} is not compiled yet")
        self.kernel = kernel


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
    """Return the folder in which compiled kernels are kept, each in a folder of its own."""
    root = os.environ.get("NUMBA_CACHE_DIR")
    return Path(root) if root else _user_cache() / "covbandit"


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
        A decorator that returns a Numba dispatcher. Call it from Python through `compiled`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        if UNCOMPILED:
            return _as_it_is(function)
        # Kernels neither allocate nor keep arrays, so they need no reference counting, with which a simulation step at
        # d = 5 takes 1.8 times as long.
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
        if signature is None:
            # A helper of other kernels: inlined, since passing the many fields of arrays would cost more than its work,
            # and without the entry points for Python and C, which take time to compile.
            options |= {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        remember(function.__module__, function.__code__.co_filename)
        dispatcher: Any = numba.njit(**options)(function)
        if signature is not None:
            with _lock:
                _signatures[id(dispatcher)] = signature
                _kernels.append(dispatcher)
                if on_demand:
                    _on_demand.add(id(dispatcher))
        return cast("Callable[P, R]", dispatcher)

    return decorate


def _as_it_is(function: Callable[P, R]) -> Callable[P, R]:
    """Return a kernel that is not compiled: like compiled code, it divides by zero without a word."""

    @functools.wraps(function)
    def run(*arguments: P.args, **named: P.kwargs) -> R:
        with np.errstate(all="ignore"):
            return function(*arguments, **named)

    plain = cast("Any", run)
    plain.py_func = function
    plain._can_compile = False
    return run


def compiled(dispatcher: Callable[P, R]) -> Callable[P, R]:
    """Return the kernel, compiled (or loaded from the cache) for its one signature.

    The first time in a process that something is compiled, and not merely loaded, a line on standard error says so,
    unless the environment variable ``COVBANDIT_QUIET`` is set.
    """
    found = cast("Any", dispatcher)
    if found._can_compile:
        if not _here.may_compile:
            raise CompilationNeeded(dispatcher)
        with _lock:
            if found._can_compile:
                for callee in _called_by_symbol(found):
                    _register(callee)
                _compile(found, _give_notice)
                found.disable_compile()
    return dispatcher


def uncompiled(dispatcher: Callable[P, R]) -> Callable[..., Any]:
    """Return the Python function that a kernel is compiled from: a formula that Python uses for arrays, too."""
    return cast("Callable[..., Any]", cast("Any", dispatcher).py_func)


class nothing_compiles:  # noqa: N801 - called as a function is; a generator would cost every ask and tell more
    """Let `compiled` raise `CompilationNeeded`, in this thread, rather than compile or load: for whoever holds a lock.

    Compiling takes seconds. Whoever catches the error gives up the lock, makes the kernel ready and begins again.
    """

    def __enter__(self) -> None:
        self._before = _here.may_compile
        _here.may_compile = False

    def __exit__(self, *_: object) -> None:
        _here.may_compile = self._before


@contextmanager
def without_notice() -> Iterator[None]:
    """Suppress the notice that `compiled` writes: for callers that show progress themselves, or compile little."""
    _notice.unwanted += 1
    try:
        yield
    finally:
        _notice.unwanted -= 1


def notice(kept: bool = True) -> str | None:
    """Return the notice about compilation, once per process; None afterwards, or if it is not wanted."""
    if _notice.written or _notice.unwanted or os.environ.get(QUIET, "0") not in ("", "0"):
        return None
    _notice.written = True
    often = "once per machine" if kept else "in every process, since they cannot be kept on disk"
    return f"covbandit: compiling kernels, {often}; this may take half a minute ({QUIET}=1 hides this line)"


def _give_notice(dispatcher: Any) -> None:
    line = notice(_keep_on_disk(dispatcher))
    if line is not None and sys.stderr is not None:
        with suppress(OSError, ValueError):  # nobody reads it, or it is closed: no reason to fail
            print(line, file=sys.stderr, flush=True)


class _OnCompilation(Listener):
    """Is told by Numba when a kernel was not found in the cache."""

    def __init__(self, kernel: Any, begun: Callable[[Any], None]) -> None:
        self._kernel = kernel
        self._begun = begun

    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"] is self._kernel:
            self._begun(self._kernel)

    def on_end(self, event: Any) -> None:
        pass


def _compile(dispatcher: Any, begun: Callable[[Any], None]) -> None:
    """Compile a kernel, or load it from the cache; call `begun` with it first if it is really compiled."""

    def prepare(kernel: Any) -> None:
        begun(kernel)
        for each in _contained(kernel):
            if _keep_on_disk(each):
                _drop_outdated(each)

    _keep_on_disk(dispatcher)
    with install_listener("numba:compile", _OnCompilation(dispatcher, prepare)), _no_collection():
        dispatcher.compile(_signatures[id(dispatcher)])


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause Python's search for cyclic garbage while Numba compiles.

    Numba makes many objects and needs them until the kernel is compiled, so every search goes through all of them and
    finds next to nothing.
    """
    enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if enabled:
            gc.enable()


def _hash(dispatcher: Any) -> str:
    """Return what tells apart the versions of a kernel's compiled code; computed when all modules are imported."""
    if dispatcher not in _hashes:
        whole = (
            source_hash(_HOW_TO_COMPILE),
            sorted(dispatcher.targetoptions.items()),
            str(_signatures.get(id(dispatcher), "")),
            function_hash(dispatcher.py_func, _compiled_as),
        )
        _hashes[dispatcher] = hashlib.sha256(repr(whole).encode()).hexdigest()[:16]
    return _hashes[dispatcher]


def _keep_on_disk(dispatcher: Any) -> bool:
    """Let Numba keep a kernel in its folder, when first called; return whether that is possible.

    A function typed in at a prompt is not kept: Numba would find its code again by its text, whatever else changed.
    """
    if dispatcher not in _kept:
        _kept[dispatcher] = False
        if Path(dispatcher.py_func.__code__.co_filename).is_file():
            previous = config.CACHE_DIR
            config.CACHE_DIR = str(_folder(dispatcher))
            try:
                dispatcher.enable_caching()
                _kept[dispatcher] = True
            except (RuntimeError, OSError):  # nothing is writable: compile in every process
                pass
            finally:
                config.CACHE_DIR = previous
    return _kept[dispatcher]


def _folder(dispatcher: Any) -> Path:
    return cache_directory() / f"covbandit-{_hash(dispatcher)}"


def _files_of(dispatcher: Any, folder: str, ending: str = "") -> Iterator[Path]:
    """Yield the files in which Numba, which names them by module and function, keeps a kernel."""
    named = ".".join(_name(dispatcher).split(".")[-2:])
    return cache_directory().glob(f"{folder}/*/{named}-*{ending}")


def _drop_outdated(dispatcher: Any) -> None:
    """Remove what earlier versions of a kernel, in the same file, left behind long ago."""
    place = Path(dispatcher._cache.cache_path)
    with suppress(OSError):
        for file in list(_files_of(dispatcher, "covbandit-*")):
            folder = file.parent
            if folder.name == place.name and folder != place and file.stat().st_mtime < time.time() - _OUTDATED_AFTER:
                file.unlink()
                with suppress(OSError):  # unless there is more in them
                    folder.rmdir()
                    folder.parent.rmdir()


def out_of_line(dispatcher: Callable[P, R]) -> Callable[P, R]:
    """Return a stand-in for a kernel with a signature, by which other kernels call it without containing its code.

    For kernels of some size: the call itself takes a few nanoseconds more. Python calls the kernel itself.
    """
    if UNCOMPILED:
        return dispatcher
    external = external_call(_name(dispatcher), lambda: _symbol(dispatcher), _signatures[id(dispatcher)])
    _out_of_line[id(external)] = dispatcher
    return cast("Callable[P, R]", external)


def _symbol(dispatcher: Any) -> str:
    return f"{_name(dispatcher)}.{_hash(dispatcher)}"


def _compiled_as(value: object) -> str | None:
    """Return the text by which a kernel's hash covers a value that its code refers to; None for ordinary values.

    For a kernel called by symbol, that is the symbol; for a class that declares a view, the places of its names.
    """
    if id(value) in _out_of_line:
        return _symbol(_out_of_line[id(value)])
    return str(value.compiled_as) if isinstance(value, type) and hasattr(value, "compiled_as") else None


def _register(dispatcher: Any) -> None:
    """Compile a kernel and tell the linker its address, before anything that calls it by symbol is loaded."""
    symbol = _symbol(dispatcher)
    if symbol not in _symbols:
        (result,) = compiled(dispatcher).overloads.values()  # type: ignore[attr-defined]
        define(symbol, result)
        _symbols.add(symbol)


def _contained(dispatcher: Any) -> list[Any]:
    """Return a kernel and those whose code it contains, since it calls them other than by symbol."""
    found = [dispatcher]
    for each in found:  # which grows meanwhile
        for value in referred_to(each.py_func):
            if isinstance(value, numba.core.dispatcher.Dispatcher) and value not in found:
                found.append(value)
    return found


def _called_by_symbol(dispatcher: Any) -> list[Any]:
    """Return the kernels that a kernel calls by symbol, itself or in helpers that it contains."""
    values = [value for each in _contained(dispatcher) for value in referred_to(each.py_func)]
    found = {id(value): _out_of_line[id(value)] for value in values if id(value) in _out_of_line}
    return list(found.values())


def callback(dispatcher: Callable[P, R]) -> Callable[P, R]:
    """Return the compiled kernel in the form in which another kernel takes it as an argument.

    A dispatcher would do as well, but Numba looks up its address anew in every call, which takes 0.1 ms.
    """
    found = cast("Any", compiled(dispatcher))
    if UNCOMPILED:
        return dispatcher
    if id(dispatcher) not in _callbacks:
        (result,) = found.overloads.values()
        _callbacks[id(dispatcher)] = numba.types.CompileResultWAP(result)
    return cast("Callable[P, R]", _callbacks[id(dispatcher)])


def names_of_kernels(everything: bool) -> list[str]:
    """Return the names of the kernels imported so far; without `everything`, not of those compiled on demand."""
    return [_name(dispatcher) for dispatcher in _kernels if everything or id(dispatcher) not in _on_demand]


def names_not_cached(names: list[str]) -> list[str]:
    """Return those of the kernels named that no process has compiled yet; none if nothing can be kept on disk."""
    missing = []
    for name in names:
        dispatcher = _kernel_named(name)
        if _keep_on_disk(dispatcher) and not any(_files_of(dispatcher, _folder(dispatcher).name, ".nbc")):
            missing.append(name)
    return missing


def names_needed(kernels: Iterable[Callable[..., Any]]) -> list[str]:
    """Return the names of kernels and of all that they call by symbol, in an order in which they can be loaded."""
    names: dict[str, None] = {}

    def add(dispatcher: Any) -> None:
        for callee in _called_by_symbol(dispatcher):
            if _name(callee) not in names:
                add(callee)
        names[_name(dispatcher)] = None

    for each in kernels:
        add(each)
    return list(names)


def shared_out(names: list[str]) -> list[list[str]]:
    """Return lists of names, each for one process to compile; what takes longest comes first.

    Kernels of one file stay together: they contain the same helpers, which a process compiles once. Kernels that others
    contain come before those, since Numba would not keep them under their signature if it had met them as a part first.
    """
    files: dict[str, list[str]] = {}
    sizes = {name: len(_contained(_kernel_named(name))) for name in names}
    for name in sorted(names, key=sizes.__getitem__):
        files.setdefault(name.rpartition(".")[0], []).append(name)
    return sorted(files.values(), key=lambda file: sum(map(sizes.__getitem__, file)), reverse=True)


def compile_for_use(name: str) -> None:
    """Compile a kernel and all that it calls, or load them from the cache."""
    compiled(_kernel_named(name))


def compile_for_cache(name: str) -> None:
    """Compile a kernel for other processes to find: in this one it cannot be called.

    What it calls by symbol is not compiled with it, so that processes can share the work in any order. The linker wants
    an address for each symbol all the same, and gets one that ends the process.
    """
    dispatcher = _kernel_named(name)
    for callee in _called_by_symbol(dispatcher):
        define_as_fatal(_symbol(callee))
    _compile(dispatcher, lambda kernel: None)


def _name(dispatcher: Any) -> str:
    return f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__name__}"


def _kernel_named(name: str) -> Any:
    if name not in names_of_kernels(everything=True):  # in a process that only compiles
        importlib.import_module(name.rpartition(".")[0])
    return next(dispatcher for dispatcher in reversed(_kernels) if _name(dispatcher) == name)
