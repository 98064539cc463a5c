"""Every snippet of the documentation runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])


def _snippets(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [p for p in PAGES if _snippets(p)], ids=lambda page: page.name)
def test_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "snippets"}
    for number, code in enumerate(_snippets(page), 1):
        # A file of its own, since compiled kernels are cached by the file they come from.
        path = tmp_path / f"{page.stem.lower()}_{number}.py"
        path.write_text(code, encoding="utf-8")
        exec(compile(code, str(path), "exec"), names)


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
