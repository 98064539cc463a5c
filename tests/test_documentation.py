"""Every snippet of the documentation runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])


def _snippets(page: Path) -> list[str]:
    return [code for code, _ in _snippets_and_output(page)]


def _snippets_and_output(page: Path) -> list[tuple[str, str | None]]:
    """Return each snippet with the block that follows at once, which is what it must print."""
    return [
        (found[1], found[2])
        for found in re.finditer(
            r"^```python\n(.*?)^```$(?:\n\n```(?:text)?\n(.*?)^```$)?",
            page.read_text(encoding="utf-8"),
            flags=re.DOTALL | re.MULTILINE,
        )
    ]


@pytest.mark.parametrize("page", [p for p in PAGES if _snippets(p)], ids=lambda page: page.name)
def test_snippets_run_and_print_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "snippets"}
    for number, (code, output) in enumerate(_snippets_and_output(page), 1):
        # A file of its own, since compiled kernels are cached by the file they come from.
        path = tmp_path / f"{page.stem.lower()}_{number}.py"
        path.write_text(code, encoding="utf-8")
        capsys.readouterr()
        exec(compile(code, str(path), "exec"), names)
        if output is not None:
            assert _lines(capsys.readouterr().out) == _lines(output), f"{page.name}, snippet {number}"


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def test_the_readme_example_has_eight_lines_and_learns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    example = _snippets(ROOT / "README.md")[0]
    assert len([line for line in example.splitlines() if line.strip()]) == 8
    names: dict[str, object] = {}
    exec(example, names)
    import covbandit as cb

    again = cb.Allocator.load("budget.json")
    assert again.ask() == names["budget"].ask()  # type: ignore[attr-defined]
    assert again.rounds_told == 4


def test_the_readme_has_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for marker in ("main job", "tests"):
        assert re.search(rf"^<!-- {marker} -->\n```bash\n.+\n```$", text, flags=re.MULTILINE), marker


def test_links_of_the_documentation_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert target.startswith("http") or (page.parent / target).exists(), f"{page.name}: {target}"
