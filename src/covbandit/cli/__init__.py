"""The command line: one file per command, with its options, its help and what it does.

Files are cheap to import: a command imports what it needs when it runs, so that ``--help`` is fast.

================  ==================================================================================
file              what it holds
================  ==================================================================================
``app.py``        ``covbandit``: the commands put together, and how the program starts
``reproduce.py``  ``covbandit reproduce``
``simulate.py``   ``covbandit simulate``
``bounds.py``     ``covbandit bounds``
``warmup.py``     ``covbandit warmup``
``study/``        ``covbandit study`` and its commands
``serve.py``      ``covbandit serve``
``token.py``      ``covbandit token``
``errors.py``     what a command prints when something is refused, and its exit code
``console.py``    tables on the terminal, and what it shows while a command works
``progress.py``   how far a campaign of simulations is
``workers.py``    who computes, threads or a cluster, and kernels compiled before the work begins
``__main__.py``   ``python -m covbandit.cli``
================  ==================================================================================
"""

from covbandit.cli.app import main

__all__ = ["main"]
