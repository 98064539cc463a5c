"""What code depends on: fingerprints of source code, the package's own and the user's, to notice that it changed.

One answer serves two questions: whether compiled kernels found on disk are those of today's sources, and whether the
results of an earlier simulation are those that today's learners would give.

* A module of the user's depends on its own file and on those of the user's modules that it imports, at whatever place
  and through however many others. Installed packages and the standard library are left out: their versions are told
  apart elsewhere. A package that defines the code in question counts as the user's wherever it is.
* A function depends on its file, on all that its code refers to, and on the values of the constants among that. A
  kernel contains these values, and the code of the kernels that it calls.
* What is imported by a name that is only worked out as the code runs is not seen.
* Code without a file (typed in at a prompt, or in a notebook) depends on itself, on the modules that it imports, and on
  all that it refers to: functions with their defaults, also within containers, and what the user's objects hold.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

SOURCE = "source"
"""The entry of `foreign_source` that tells versions apart."""

_PACKAGE = Path(__file__).resolve().parent.parent
_RULE = 2  # how `foreign_source` finds what a class depends on; results found by another rule are not taken for current
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_Described = Callable[[object], str | None]


@cache
def source_hash(parts: Sequence[str]) -> str:
    """Return sixteen letters that change with the source files in these folders of the package, or in these files."""
    digest = hashlib.sha256()
    for part in parts:
        whole = _PACKAGE / part
        for path in [whole] if whole.suffix else sorted(whole.rglob("*.py")):
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def foreign_source(kind: type) -> dict[str, str]:
    """Return what tells apart the versions of a class that is not ours: where it is, and a hash of what it depends on.

    Nothing for our own classes, whose sources are hashed together.
    """
    if _is_ours(kind.__module__):
        return {}
    found = _Dependencies(kind.__module__)
    found.add_class(kind)
    return {"defined_in": f"{kind.__module__}.{kind.__qualname__}", SOURCE: f"{_RULE}-{found.hash()}"}


def remember(module: str | None, file: str | None = None) -> None:
    """Read the file of a user's module, and of those that it imports, while its code is being loaded.

    Whoever reads the file later may find an edited one, which no longer says what the code in this process does. So
    this is called when a class or a kernel is defined. For our own kernels the file alone is read, not its imports.
    """
    if _is_ours(module):
        if file is not None:
            _own_digest(file)
    elif module is not None:
        with suppress(Exception):  # nobody's class fails because a file of theirs cannot be read; the hash says so then
            _Dependencies(module).add_module(module)


def function_hash(function: FunctionType, described: _Described) -> str:
    """Return sixteen letters that change with what the compiled code of a function depends on.

    Parameters
    ----------
    function : function
        In Python, before it is compiled.
    described : callable
        Returns, for values that the code refers to but does not contain, what tells their versions apart; else None.
    """
    found = _Dependencies(function.__module__, described)
    found.add_function(function)
    return found.hash()


def referred_to(function: FunctionType) -> Iterator[object]:
    """Yield the values that the code of a function refers to: globals, those of other modules, and enclosing ones."""
    for _, value in _references(function):
        yield value


class _Dependencies:
    """All that a piece of code depends on, collected as lines of text.

    Parameters
    ----------
    root : str
        The module of that code, whose package is followed wherever it is installed.
    described : callable, optional
        As for `function_hash`. Only with it are our own functions followed: kernels contain them.
    """

    def __init__(self, root: str, described: _Described | None = None) -> None:
        self._top = root.partition(".")[0]
        self._described = described
        self._lines: set[str] = set()
        self._seen: dict[int, object] = {}  # with the objects themselves, so that no other gets the same id

    def hash(self) -> str:
        return hashlib.sha256("\n".join(sorted(self._lines)).encode()).hexdigest()[:16]

    def add_class(self, kind: type) -> None:
        """Add a class and its bases: the modules they are in or, without files, the code of their methods."""
        for each in kind.__mro__:
            if not self._is_followed(each.__module__) or _is_ours(each.__module__) or not self._is_new(each):
                continue
            has_file = self.add_module(each.__module__)
            for name, value in sorted(vars(each).items()):
                function = _as_function(value)
                typed_in = function is not None and not Path(function.__code__.co_filename).is_file()
                if typed_in or (not has_file and (function is not None or not name.startswith("__"))):
                    self._add_value(f"{each.__qualname__}.{name}", value)

    def add_function(self, function: FunctionType) -> None:
        """Add a function, its file, and all that its code refers to."""
        if not self._is_followed(function.__module__) or not self._is_new(function):
            return
        name, file = function.__module__, function.__code__.co_filename
        if _is_ours(name):
            self._lines.add(f"file {name} {_own_digest(file)}")
        elif not Path(file).is_file():
            self._add_typed(function)
        elif getattr(sys.modules.get(name), "__file__", None) == file:
            self.add_module(name)
        else:  # run from a file, but not imported
            self._add_file(name, file, None)
        defaults = {f"default {k}": value for k, value in enumerate(function.__defaults__ or ())}
        defaults |= {f"default {key}": value for key, value in (function.__kwdefaults__ or {}).items()}
        for referred, value in (*_references(function), *defaults.items()):
            self._add_value(f"{name}.{function.__qualname__}: {referred}", value)

    def _add_typed(self, function: FunctionType) -> None:
        """Add the code of a function without a file, and the modules that it imports."""
        self._lines.add(f"code {function.__qualname__} {_code_digest(function.__code__)}")
        package = function.__globals__.get("__package__") or ""
        for imported in _with_packages(_imported(function.__code__, package)):
            if not _is_ours(imported) and self._is_followed(imported):
                self.add_module(imported)

    def _add_value(self, name: str, value: object) -> None:
        described = None if self._described is None else self._described(value)
        if described is not None:
            self._lines.add(f"{name}: {described}")
        elif (function := _as_function(value)) is not None:
            self.add_function(function)
            owner = getattr(value, "__self__", None)
            if owner is not None:
                self._add_value(f"{name}, of", owner)
        elif isinstance(value, ModuleType):
            if self._is_followed(value.__name__) and not _is_ours(value.__name__):
                self.add_module(value.__name__)
        elif isinstance(value, type):
            self.add_class(value)
        elif (words := _in_words(value)) is not None:
            self._lines.add(f"{name} = {words}")
        else:
            self.add_class(type(value))
            self._add_parts(name, value)

    def _add_parts(self, name: str, value: object) -> None:
        """Add what a value holds that is no constant: a container, a partial function, an object of the user's."""
        if not self._is_new(value):
            return
        kind = type(value).__module__
        if isinstance(value, dict):
            for key, part in value.items():
                self._add_value(f"{name}[{key!r}]", part)
        elif isinstance(value, tuple | list | frozenset | set):
            ordered = not isinstance(value, frozenset | set)
            for k, part in enumerate(value):
                self._add_value(f"{name}[{k if ordered else ''}]", part)
        elif isinstance(value, partial):
            self._add_value(f"{name}, function", value.func)
            self._add_value(f"{name}, arguments", (value.args, value.keywords))
        elif isinstance(value, SimpleNamespace) or (self._is_followed(kind) and not _is_ours(kind)):
            for key, part in sorted(getattr(value, "__dict__", {}).items()):
                self._add_value(f"{name}.{key}", part)

    def add_module(self, name: str) -> bool:
        """Add a module's file and the user's modules that it imports; return whether it has a file."""
        found = _located(name)
        if found is None:
            return False
        self._add_file(name, *found)
        return True

    def _add_file(self, name: str, path: str, loaded_as: object) -> None:
        line = f"module {name}"
        if line in self._lines:
            return
        file = _read(name, path, loaded_as)
        self._lines |= {line, f"file {name} {file.digest}"}
        for imported in file.imports:
            if _is_ours(imported):
                continue
            found = _located(imported)
            if found is not None and (imported.partition(".")[0] == self._top or not _is_installed(found[0])):
                self._add_file(imported, *found)

    def _is_new(self, value: object) -> bool:
        if id(value) in self._seen:
            return False
        self._seen[id(value)] = value
        return True

    def _is_followed(self, module: str | None) -> bool:
        """Return True if code of a module is looked into: the user's and, for kernels, ours."""
        if module is None:
            return False
        if _is_ours(module):
            return self._described is not None
        return module.partition(".")[0] == self._top or not _is_library(module)


def _is_ours(module: str | None) -> bool:
    return (module or "").partition(".")[0] == _PACKAGE.name


# What code refers to --------------------------------------------------------------------------------------------------


def _references(function: FunctionType) -> Iterator[tuple[str, object]]:
    names = sorted(_names(function.__code__))
    yield from _looked_up(names, function.__globals__, "")
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not filled yet
            continue


def _looked_up(names: Sequence[str], there: Mapping[str, object], before: str) -> Iterator[tuple[str, object]]:
    """Yield what names stand for in a module, and in modules that it holds: code may say module.name."""
    for name in names:
        if name not in there:
            continue
        value = there[name]
        yield before + name, value
        if isinstance(value, ModuleType) and (_is_ours(value.__name__) or not _is_library(value.__name__)):
            yield from _looked_up([each for each in names if each != name], vars(value), f"{before}{name}.")


def _is_library(module: str) -> bool:
    """Return True if a module is of the standard library, or of a package that was installed."""
    found = _located(module)
    return module.partition(".")[0] in sys.stdlib_module_names if found is None else _is_installed(found[0])


def _names(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names


def _as_function(value: object) -> FunctionType | None:
    """Return the Python function behind a value: itself, or that of a method, property, wrapper or Numba object."""
    if isinstance(value, FunctionType):
        return value
    for name in ("__func__", "fget", "py_func", "_defn", "__wrapped__", "func"):
        if name == "func" and not isinstance(value, cached_property):
            continue
        inner = getattr(value, name, None)
        if isinstance(inner, FunctionType):
            return inner
    return None


def _in_words(value: object) -> str | None:
    """Return a constant as text with every digit; None if it is no constant."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, np.ndarray | np.generic):
        digest = hashlib.sha256(value.tobytes()).hexdigest()
        return None if value.dtype.hasobject else f"{value.dtype} {value.shape} {digest}"
    if isinstance(value, dict):
        value = tuple(value.items())
    if not isinstance(value, tuple | list | frozenset | set):
        return None
    parts = [_in_words(item) for item in value]
    if isinstance(value, frozenset | set):  # in no order of their own
        parts.sort(key=str)
    return None if None in parts else f"({', '.join(map(str, parts))})"


def _code_digest(code: CodeType) -> str:
    """Return a hash of what code does, wherever it stands."""
    parts: list[object] = [code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_argcount]
    parts += [_code_digest(each) if isinstance(each, CodeType) else _in_words(each) for each in code.co_consts]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


# Files ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _File:
    loaded_as: object  # which load of a module this was read for: a module that is loaded anew is read anew
    digest: str
    imports: tuple[str, ...]


_files: dict[tuple[str, str], _File] = {}


def _read(name: str, path: str, loaded_as: object) -> _File:
    """Return hash and imports of a file, read once for each time that its module is loaded.

    A file that was changed since says nothing about the code that runs in this process.
    """
    known = _files.get((name, path))
    if loaded_as is None:
        found = Path(path).stat()
        written = (found.st_mtime_ns, found.st_size)
        loaded_as = known.loaded_as if known is not None and known.loaded_as == written else written
    if known is None or known.loaded_as is not loaded_as:  # specs of modules loaded at different times are equal
        content = Path(path).read_bytes()
        known = _File(loaded_as, hashlib.sha256(content).hexdigest(), tuple(sorted(_imports(name, path, content))))
        _files[name, path] = known
    return known


@cache
def _own_digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _imports(name: str, path: str, content: bytes) -> set[str]:
    """Return the full names of all modules that a file imports, wherever in it that stands.

    Names of things that are imported from modules are among them: these may be modules as well.
    """
    if not path.endswith((".py", ".pyw")):
        return set()
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return set()
    package = getattr(sys.modules.get(name), "__package__", None)
    if package is None:
        package = name if Path(path).stem == "__init__" else name.rpartition(".")[0]
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            names |= _full_names(base, [alias.name for alias in node.names], package)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "attr", getattr(node.func, "id", None))
            if called in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                beside = [*node.args[1:2], *(each.value for each in node.keywords if each.arg == "package")]
                said = beside[0].value if beside and isinstance(beside[0], ast.Constant) else package
                names |= _full_names(node.args[0].value, (), str(said or ""))
    return _with_packages(names)


def _imported(code: CodeType, package: str) -> set[str]:
    """Return the full names of all modules that code imports while it runs, as `_imports` does for files."""
    names: set[str] = set()
    before: tuple[Any, Any] = (0, None)  # what was loaded last: level and names of an import
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            level, wanted = before
            names |= _full_names("." * level + str(instruction.argval), wanted or (), package)
        before = (before[1], instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _imported(constant, package)
    return names


def _full_names(base: str, wanted: Iterable[str], package: str | None) -> set[str]:
    """Return the name of a module and those of what is imported from it; none if it is relative to nothing."""
    try:
        base = importlib.util.resolve_name(base, package or None)
    except ImportError:
        return set()
    return {base} | {f"{base}.{name}" for name in wanted if name != "*"}


def _with_packages(names: Iterable[str]) -> set[str]:
    """Return names with those of the packages they are in, which are run before."""
    return {".".join(parts[:k]) for parts in (each.split(".") for each in names) for k in range(1, len(parts) + 1)}


def _located(name: str) -> tuple[str, object] | None:
    """Return the file of a module and an object that stands for this load of it; None if the module has no file.

    The object is None if the module has not been loaded.
    """
    module = sys.modules.get(name)
    if module is None:
        path, loaded_as = _unloaded(name), None
    else:
        path, loaded_as = getattr(module, "__file__", None), getattr(module, "__spec__", None) or module
    return None if path is None or not Path(path).is_file() else (path, loaded_as)


def _unloaded(name: str) -> str | None:
    """Return the file that would be loaded for a module, without running anything."""
    spec = _spec(name)
    return spec.origin if spec is not None and spec.has_location else None


def _spec(name: str) -> Any:
    parent, _, _ = name.rpartition(".")
    where = None
    if parent:
        above = sys.modules.get(parent)
        where = getattr(above, "__path__", None) if above is not None else _places(_spec(parent))
        if where is None:
            return None
    for finder in sys.meta_path:
        try:
            found = finder.find_spec(name, where)
        except Exception:  # of whoever put the finder there
            continue
        if found is not None:
            return found
    return None


def _places(spec: Any) -> Any:
    return None if spec is None else spec.submodule_search_locations


@cache
def _installed_in() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    return tuple({Path(paths[key]).resolve() for key in ("stdlib", "platstdlib", "purelib", "platlib")})


@cache
def _is_installed(path: str) -> bool:
    file = Path(path).resolve()
    return not _INSTALLED.isdisjoint(file.parts) or any(file.is_relative_to(folder) for folder in _installed_in())
