"""Refuse untidy files: spaces at line ends, a missing or repeated last line break, marks of a merge, large files.

    python .ci/tidy_files.py [FILE ...]

Without names it looks at every file that Git tracks.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LARGEST = 1_000_000  # bytes
MERGE_MARKS = (b"<<<<<<< ", b">>>>>>> ")
WRITTEN_BY_HAND = (".cff", ".css", ".html", ".jinja", ".js", ".md", ".py", ".sh", ".toml", ".yaml", ".yml")


def complaints(path: Path) -> list[str]:
    """Return what is wrong with a file, one sentence for each kind of mistake."""
    content = path.read_bytes()
    if len(content) > LARGEST:
        return [f"{path}: {len(content)} bytes; at most {LARGEST} are kept in the repository"]
    if not path.name.endswith(WRITTEN_BY_HAND) or path.name.endswith(".min.js") or not content:
        return []
    found = []
    lines = content.split(b"\n")
    for number, line in enumerate(lines, 1):
        if line.rstrip(b"\r") != line.rstrip():
            found.append(f"{path}:{number}: spaces at the end of the line")
        if line.startswith(MERGE_MARKS):
            found.append(f"{path}:{number}: mark of an unfinished merge")
    if lines[-1]:
        found.append(f"{path}: no line break at the end")
    elif len(lines) > 2 and not lines[-2].strip():
        found.append(f"{path}: empty lines at the end")
    return found


def main(names: list[str]) -> int:
    """Print all complaints; return the exit status."""
    if not names:
        listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, check=True)
        names = [name for name in listed.stdout.decode().split("\0") if name]
    found = [text for name in names if Path(name).is_file() for text in complaints(Path(name))]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
