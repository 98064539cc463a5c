"""``covbandit``: the commands put together, and how the program starts."""

from __future__ import annotations

import codecs
import io
import sys
from typing import Annotated

import typer

from covbandit._version import __version__
from covbandit.cli.bounds import bounds
from covbandit.cli.errors import EXIT_CODES, end, end_misused, wants_json
from covbandit.cli.reproduce import reproduce
from covbandit.cli.serve import serve
from covbandit.cli.simulate import simulate
from covbandit.cli.study import study
from covbandit.cli.token import token
from covbandit.cli.warmup import warmup
from covbandit.errors import CovbanditError

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


app.command()(reproduce)
app.command()(simulate)
app.command()(bounds)
app.command()(warmup)
app.add_typer(study, rich_help_panel="Studies")
app.command(rich_help_panel="Studies")(serve)
app.add_typer(token, rich_help_panel="Studies")


def main() -> None:
    """Run the command line; an error of ours becomes one line, or one JSON object, and an exit code."""
    as_json = wants_json(sys.argv[1:])
    _replace_what_the_encoding_lacks()
    try:
        # In standalone mode, typer exits by itself, and explains misuse in a panel for people.
        status = app(standalone_mode=not as_json)
    except CovbanditError as error:
        end(error, as_json)
    except Exception as error:
        if not as_json or not hasattr(error, "format_message"):
            raise
        end_misused(error)
    sys.exit(status if isinstance(status, int) else 0)


def _replace_what_the_encoding_lacks() -> None:
    """Print question marks for letters such as ρ that the encoding of the terminal or file lacks.

    Under a locale such as de_DE.ISO-8859-1, Python would end the command with a traceback instead.
    """
    for stream in (sys.stdout, sys.stderr):
        if not isinstance(stream, io.TextIOWrapper) or stream.errors not in ("strict", "surrogateescape"):
            continue
        if codecs.lookup(stream.encoding).name != "utf-8":
            stream.reconfigure(errors="replace")
