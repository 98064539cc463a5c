"""Two source trees side by side: that of a revision and the present one, each with caches of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from one_thread import ONE_THREAD

ROOT = Path(__file__).resolve().parent.parent
PROBE = Path(__file__).resolve().parent / "revision_probe.py"


@dataclass(frozen=True)
class Tree:
    """Sources, and where processes that run them keep what they compile.

    Parameters
    ----------
    name : str
        For people.
    folder : Path
        Holds ``src``; caches are made beside it.
    """

    name: str
    folder: Path

    @property
    def source(self) -> Path:
        """The folder that Python imports the package from."""
        return self.folder / "src"

    def environment(self, cache: str = "kernels") -> dict[str, str]:
        """Return the environment of a process that runs these sources, with compiled kernels in the cache named."""
        dropped = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")
        inherited = {name: value for name, value in os.environ.items() if name not in dropped}
        return inherited | {
            **ONE_THREAD,
            "COVBANDIT_QUIET": "1",
            "NUMBA_CACHE_DIR": str(self.folder / cache),
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": str(self.source),
            "PYTHONPYCACHEPREFIX": str(self.folder / "bytecode"),
        }

    def forget(self, cache: str) -> None:
        """Remove compiled kernels."""
        shutil.rmtree(self.folder / cache, ignore_errors=True)

    def probe(self, *arguments: str) -> list[str]:
        """Return the arguments with which Python runs the probe against these sources."""
        return [str(PROBE), str(self.source), *arguments]


@contextlib.contextmanager
def side_by_side(revision: str, present: Path = ROOT) -> Iterator[tuple[Tree, Tree]]:
    """Put the sources of a revision and the present ones into a temporary folder, which is removed afterwards.

    Both are copies: the present ones may be edited while they are measured, and both lie on the same disk.

    Parameters
    ----------
    revision : str
        What git knows a commit by, or a folder with a tree.
    present : Path
        The tree to compare it with.
    """
    with tempfile.TemporaryDirectory(prefix="covbandit-revisions-") as name:
        folder = Path(name)
        before, now = Tree(revision, folder / "before"), Tree("present", folder / "now")
        if Path(revision).is_dir():
            _copy(Path(revision), before.folder)
        else:
            _check_out(revision, before.folder)
        _copy(present, now.folder)
        yield before, now


def _copy(tree: Path, folder: Path) -> None:
    shutil.copytree(tree / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))


def _check_out(revision: str, folder: Path) -> None:
    """Write the sources of a commit into a new folder; unlike a worktree, that leaves nothing in the repository."""
    command = ["git", "-C", str(ROOT), "archive", "--format=tar", f"{revision}^{{commit}}", "src"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise ValueError(f"cannot check out {revision!r}: {lines[-1]}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")


def run_together(trees: Sequence[Tree], arguments: Sequence[Sequence[str]]) -> None:
    """Run the probe against all trees at once, where nothing is timed; raise `RuntimeError` if one fails."""
    children: list[subprocess.Popen[bytes]] = []
    try:
        for tree, each in zip(trees, arguments, strict=True):
            with (tree.folder / "complaints").open("wb") as complaints:
                children.append(
                    subprocess.Popen(
                        [sys.executable, *tree.probe(*each)],
                        env=tree.environment(),
                        stdout=subprocess.DEVNULL,
                        stderr=complaints,
                    )
                )
        for tree, child in zip(trees, children, strict=True):
            if child.wait() != 0:
                lines = (tree.folder / "complaints").read_text(encoding="utf-8", errors="replace").strip().splitlines()
                raise RuntimeError(f"{tree.name}: {' '.join(lines[-1:]) or 'the probe failed'}")
    finally:
        for child in children:
            child.kill()  # nothing, if it has ended
            child.wait()


class Stepper:
    """A process that simulates against one tree on request, so that neither start nor compilation is timed.

    Parameters
    ----------
    tree : Tree
        What it runs.
    """

    def __init__(self, tree: Tree) -> None:
        self._name = tree.name
        self._complaints = tree.folder / "complaints"
        with self._complaints.open("wb") as complaints:
            self._process = subprocess.Popen(
                [sys.executable, *tree.probe("steps")],
                env=tree.environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
            )

    def __enter__(self) -> Stepper:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def seconds(self, case: str, rounds: int) -> float | None:
        """Return the CPU seconds of simulating so many rounds; None if these sources lack the learner."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it has died, and the answer below says so
            self._process.stdin.write(json.dumps([case, rounds]) + "\n")
            self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            lines = self._complaints.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise RuntimeError(f"{self._name}, {case}: {' '.join(lines[-1:]) or 'the process ended'}")
        found: Any = json.loads(answer)
        return None if found is None else float(found)
