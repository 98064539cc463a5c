"""``covbandit warmup``."""

from __future__ import annotations

import importlib


def warmup() -> None:
    """Compile all kernels ahead of time.

    The first use of each kernel on a machine compiles it, which takes seconds in all; later processes find the result
    in a cache on disk. This command does it at a moment of your choice, for example while building an image.
    """
    from rich.console import Console

    from covbandit.cli.workers import compile_kernels
    from covbandit.kernels.jit.compilation import cache_directory, names_of_kernels

    importlib.import_module("covbandit.reproduction")  # has a learner of its own; others do without its imports
    console = Console(stderr=True)
    seconds = compile_kernels(console, everything=True)
    console.print(
        f"{len(names_of_kernels(everything=True))} kernels ready after {seconds:.1f} s, kept in {cache_directory()}",
        soft_wrap=True,
    )
