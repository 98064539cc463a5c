"""The command line in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-m", "covbandit.cli"]


def covbandit(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; the caller judges its exit status."""
    environment = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, encoding="utf-8", env=environment, timeout=300, check=False
    )


def interrupt_on_the_way(arguments: list[str], folder: Path) -> tuple[int, str]:
    """Run a command on a terminal, press Ctrl-C once a tenth of a bar is full; return status and standard error."""
    import pty  # here, since Windows has none and many tests need this file

    ours, theirs = pty.openpty()
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=theirs, cwd=folder) as child:
        os.close(theirs)
        notes, pressed = "", False
        while True:
            try:
                notes += os.read(ours, 65536).decode(errors="replace")
            except OSError:  # how Linux says that the other end is closed
                break
            if not pressed and re.search(r"[1-9]\d %", notes):
                child.send_signal(signal.SIGINT)
                pressed = True
        status = child.wait(timeout=300)
    os.close(ours)
    assert pressed, notes
    return status, " ".join(notes.split())
