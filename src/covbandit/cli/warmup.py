"""``covbandit warmup``."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time

from rich.console import Console

from covbandit.kernels.compilation import cache_directory, compile_ahead, count_kernels

_ROOMS_THAT_CALL_KERNELS = ("maximization", "learners", "environments", "simulation")
_BACKWARDS = "from covbandit.cli.warmup import compile_backwards; compile_backwards({everything})"


def _import_rooms() -> None:
    for room in _ROOMS_THAT_CALL_KERNELS:
        importlib.import_module(f"covbandit.{room}")


def compile_kernels(console: Console, everything: bool = False) -> float:
    """Compile what simulations need, or everything; show progress while it takes time; return the seconds it took.

    Numba compiles on one core only. With an empty cache a second process starts from the other end of the list, and
    each finds in the cache what the other has done. Should that process fail, this one does all the work.
    """
    begun = time.monotonic()
    helper = None
    if (os.cpu_count() or 1) > 1 and not any(cache_directory().rglob("*.nbc")):
        helper = subprocess.Popen(
            [sys.executable, "-c", _BACKWARDS.format(everything=everything)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    try:
        _import_rooms()
        with console.status("compiling kernels") as status:
            for k, name in enumerate(compile_ahead(everything), 1):
                status.update(f"compiling kernels, once per machine: {k} of {count_kernels(everything)}, {name}")
    finally:
        if helper is not None:
            helper.terminate()
            helper.wait()
    return time.monotonic() - begun


def compile_backwards(everything: bool) -> None:
    """Compile the same, last one first."""
    _import_rooms()
    for _ in compile_ahead(everything, backwards=True):
        pass


def run() -> None:
    """Compile everything and say where it is kept."""
    console = Console(stderr=True)
    seconds = compile_kernels(console, everything=True)
    console.print(
        f"{count_kernels(everything=True)} kernels ready after {seconds:.1f} s, kept in {cache_directory()}",
        soft_wrap=True,
    )
