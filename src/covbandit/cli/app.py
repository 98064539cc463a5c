"""The command ``covbandit``."""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from covbandit._version import __version__
from covbandit.cli.failures import EXIT_CODES, end, end_misused, wants_json
from covbandit.cli.service_app import serve, token
from covbandit.cli.study_app import study
from covbandit.errors import CovbanditError, Interrupted, InvalidInput

app = typer.Typer(
    name="covbandit",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    help=f"""Online allocation over correlated options.

    Each round it proposes weights over options, sees what they earned, and learns the weights with the best trade-off
    between reward and covariance risk, **w'θ − ρ w'Σw**. The algorithms are those of *Continuous Mean-Covariance
    Bandits* (NeurIPS 2021), and some of our own.

    **Start here**

    `covbandit reproduce fi-synthetic --quick`  the paper's first experiment, in seconds

    `covbandit reproduce`  all its experiments and theorems, with a verdict on each statement, in minutes

    `covbandit simulate --example > my.toml; covbandit simulate my.toml`  your own experiment, from a file to edit

    `covbandit study --help`  ask for weights now and tell what happened later, for months, with nothing lost

    In Python: `import covbandit as cb; help(cb.allocator)`.

    {EXIT_CODES}
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
            metavar="PANEL",
            help="Which; all by default. Panels are fi, sb, fb (full information, semi-bandit, full bandit), then "
            "-synthetic or -etf, at the ρ of the paper's figure; -rho10 or -rho0.1 after that is the other ρ. "
            "fi-correlation … are sweeps over the correlation, fi-lower-bound … hard instances. fi alone is all that "
            "begins with fi.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A look in half a minute: 20 replications of 10,000 rounds, for sb 500.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="1,000,000 rounds, for sb 100,000: about forty minutes on two cores.")
    ] = False,
    horizon: Annotated[
        int | None, typer.Option(help="Rounds per replication; by default 100,000, for sb 3,000.")
    ] = None,
    replications: Annotated[int | None, typer.Option(help="Independent replications; 50 by default.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same numbers, on any number of workers.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Threads; one per core by default.")] = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on the Dask cluster whose scheduler is there.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for report, figures and results.")] = Path("covbandit-results"),
    etf_file: Annotated[
        Path | None, typer.Option(help="Your copy of the Kaggle file of US funds, in place of our five funds.")
    ] = None,
    funds: Annotated[str | None, typer.Option(help="Which funds of that file: SPY,EFA,TLT,VNQ,XLE.")] = None,
) -> None:
    """Repeat the paper's experiments and judge its statements.

    Writes `report.html` (open it in a browser), `report.md`, `claims.json`, figures and results (load them with
    `cb.SimulationResult.load`). Ctrl-C keeps finished replications; the same command continues. Other settings start a
    new run, and what was computed before is kept.
    """
    from covbandit.cli.reproduce import Options, run

    with _telling_how_to_continue():
        run(Options(panels or [], quick, full, horizon, replications, seed, workers, dask, out, etf_file, funds))


@app.command()
def simulate(
    specification: Annotated[
        Path | None, typer.Argument(metavar="SPEC.toml", help="What to simulate.", show_default=False)
    ] = None,
    example: Annotated[
        bool, typer.Option("--example", help="Print a commented specification that runs as it is, and stop.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check the specification and say what would run, and stop.")
    ] = False,
    horizon: Annotated[int | None, typer.Option(help="Rounds, instead of those in the file.")] = None,
    replications: Annotated[int | None, typer.Option(help="Replications, instead of those in the file.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed, instead of the one in the file.")] = None,
    workers: Annotated[int | None, typer.Option(help="Threads; one per core by default.")] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Scheduler of a running Dask cluster to use instead: tcp://127.0.0.1:8786."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for results; by default named after the file.", show_default=False)
    ] = None,
) -> None:
    """Simulate what a TOML file describes: problem, learners, rewards, rounds; lists become sweeps.

    **Start here**

    `covbandit simulate --example > my.toml`  a commented file to edit

    `covbandit simulate my.toml --check`  what it would run; all mistakes at once, each with its line and the way out

    `covbandit simulate my.toml`  run it

    A list where one value is expected (`risk_aversion = [0.1, 1.0]`) is a sweep: of simulations if it stands under
    `[problem]` or `[environment]`, of learners under `[[learners]]`. The folder then holds one table of everything
    (`table.csv`, `.tex`, `.parquet`), one figure with a picture per simulation (`figure.png`, `.svg`, `.pdf`), and the
    results (`.npz`, load with `cb.SimulationResult.load`).

    Same file, same numbers: on any number of threads, and on a Dask cluster. Ctrl-C keeps finished replications, and
    so does a crash; the same command continues. More replications, or more values in a list, compute only what is new.
    """
    from covbandit.cli.simulate import run
    from covbandit.specifications import example as example_text

    if example:
        typer.echo(example_text(), nl=False)
        return
    if specification is None:
        raise InvalidInput("no specification: name a TOML file, or print one to start from with --example")
    with _telling_how_to_continue():
        run(specification, out, check, horizon, replications, seed, workers, dask)


@app.command()
def bounds(
    source: Annotated[
        str, typer.Argument(metavar="SPEC", help="A specification (TOML file), or a preset: synthetic, etf.")
    ],
    horizon: Annotated[
        int | None, typer.Option(help="Rounds; by default those of the file, 10,000 for a preset.")
    ] = None,
    regularization: Annotated[float, typer.Option(help="λ of MC-UCB.")] = 0.5,
    variance_bound: Annotated[
        float | None, typer.Option(help="b: no variance exceeds it; by default the largest there is.")
    ] = None,
) -> None:
    """Print the paper's regret bounds for your problem, with every quantity in them.

    Theorems 1, 3 and 5 (full information, semi-bandit, full bandit), with their conditions checked. All are O(·) in the
    paper; they are shown with **constant 1**: compare problems and rates by them, not learners.

    `covbandit bounds synthetic`

    `covbandit bounds my.toml --horizon 100000`  for each problem of a specification
    """
    from covbandit.cli.bounds import run

    run(source, horizon, regularization, variance_bound)


@contextmanager
def _telling_how_to_continue() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as stopped:  # caught here, since typer ends on any of them without a word
        kept = "interrupted: all that was finished is kept; the same command continues from there"
        typer.echo(f"\n{stopped if isinstance(stopped, Interrupted) else kept}", err=True)
        raise typer.Exit(130) from None


@app.command()
def warmup() -> None:
    """Compile all kernels ahead of time.

    The first use of each kernel on a machine compiles it, which takes seconds in all; later processes find the result
    in a cache on disk. This command does it at a moment of your choice, for example while building an image.
    """
    from covbandit.cli.warmup import run

    run()


app.add_typer(study, rich_help_panel="Studies")
app.command(rich_help_panel="Studies")(serve)
app.add_typer(token, rich_help_panel="Studies")


def main() -> None:
    """Run the command line; errors of ours become one line, or one JSON object, and an exit code."""
    as_json = wants_json(sys.argv[1:])
    _print_what_the_locale_lacks()
    try:
        # In standalone mode it exits by itself, and explains misuse in a panel for people.
        status = app(standalone_mode=not as_json)
    except CovbanditError as error:
        end(error, as_json)
    except Exception as error:
        if not as_json or not hasattr(error, "format_message"):
            raise
        end_misused(error)
    sys.exit(status if isinstance(status, int) else 0)


def _print_what_the_locale_lacks() -> None:
    """Print question marks for letters such as ρ that the terminal's or the file's encoding does not have.

    Under a locale such as de_DE.ISO-8859-1, Python would end the command with a traceback instead.
    """
    for stream in (sys.stdout, sys.stderr):
        if not isinstance(stream, io.TextIOWrapper) or stream.errors not in ("strict", "surrogateescape"):
            continue
        if codecs.lookup(stream.encoding).name != "utf-8":
            stream.reconfigure(errors="replace")
