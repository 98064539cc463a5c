"""The command ``covbandit``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from covbandit._version import __version__
from covbandit.errors import CovbanditError, Interrupted

app = typer.Typer(
    name="covbandit",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    help="""Online allocation over correlated options.

    Each round it proposes weights over options, sees what they earned, and learns the weights with the best trade-off
    between reward and covariance risk, **w'θ − ρ w'Σw**. The algorithms are those of *Continuous Mean-Covariance
    Bandits* (NeurIPS 2021), and some of our own.

    **Start here**

    `covbandit reproduce fi-synthetic --quick`  the paper's first experiment, in seconds

    `covbandit reproduce`  all its experiments so far, with 50 replications each

    In Python: `import covbandit as cb; help(cb.allocator)`.

    Exit codes: 0 done, 2 bad input (one line says what and why), 130 interrupted (the same command continues).
    """,
)


def _version(shown: bool) -> None:
    if shown:
        typer.echo(f"covbandit {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def reproduce(
    panels: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PANEL]...",
            help="Which panels; all by default: fi-synthetic, sb-synthetic, fb-synthetic (ρ = 10 and 0.1; "
            "fb-synthetic-rho10 and fb-synthetic-rho0.1 are one each).",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A first look: 20 replications of 10,000 rounds.")] = False,
    horizon: Annotated[
        int | None, typer.Option(help="Rounds per replication; by default 100,000, for sb 10,000.")
    ] = None,
    replications: Annotated[int | None, typer.Option(help="Independent replications; 50 by default.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same numbers, on any number of workers.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Threads; one per core by default.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for figures, results and verdicts.")] = Path("covbandit-results"),
) -> None:
    """Repeat the paper's experiments and judge its statements.

    For each panel, writes a figure (PNG, SVG), the results (NPZ, load with `cb.SimulationResult.load`) and a verdict on
    each statement of the paper (Markdown). Ctrl-C keeps finished replications; the same command continues.
    """
    from covbandit.cli.reproduce import run

    try:
        run(panels or [], quick, horizon, replications, seed, workers, out)
    except Interrupted as stopped:  # caught here, since typer ends on any KeyboardInterrupt without a word
        typer.echo(f"\n{stopped}", err=True)
        raise typer.Exit(130) from None


@app.command()
def warmup() -> None:
    """Compile all kernels ahead of time.

    The first use of each kernel on a machine compiles it, which takes seconds in all; later processes find the result
    in a cache on disk. This command does it at a moment of your choice, for example while building an image.
    """
    from covbandit.cli.warmup import run

    run()


def main() -> None:
    """Run the command line; errors of ours become one line and an exit code."""
    try:
        app()
    except CovbanditError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
