"""``covbandit warmup``."""

from __future__ import annotations

import importlib
import time

from rich.console import Console

from covbandit.kernels.compilation import cache_directory, compile_all, count_kernels

_ROOMS_WITH_KERNELS = ("maximization", "learners", "environments", "simulation")


def compile_kernels(console: Console) -> float:
    """Compile every kernel, with a progress line while it takes time; return the seconds it took."""
    begun = time.monotonic()
    for room in _ROOMS_WITH_KERNELS:
        importlib.import_module(f"covbandit.{room}")
    with console.status("compiling kernels") as status:
        for k, name in enumerate(compile_all(), 1):
            status.update(f"compiling kernels, once per machine: {k} of {count_kernels()}, {name}")
    return time.monotonic() - begun


def run() -> None:
    """Compile everything and say where it is kept."""
    console = Console(stderr=True)
    seconds = compile_kernels(console)
    console.print(f"{count_kernels()} kernels ready after {seconds:.1f} s, kept in {cache_directory()}", soft_wrap=True)
