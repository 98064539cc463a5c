"""Every snippet of the documentation runs."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import covbandit as cb
from covbandit.testing import LearnerConformance

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "covbandit"
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


# Learners that pages show, by page. They must do all that a learner must, as copied from the page.
SHOWN = [
    (page, name)
    for page in PAGES
    for code in _snippets(page)
    for name in re.findall(r"^class (\w+)\((?:cb\.Learner|SemiBanditLearner)\):", code, flags=re.MULTILINE)
]
CHECKS = [name for name in dir(LearnerConformance) if name.startswith("test_")]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path, str], type[cb.Learner]]]:
    """Return a learner's class as somebody has it who copies the snippets of a page into a module."""
    folder = tmp_path_factory.mktemp("copied")
    modules: dict[Path, ModuleType] = {}

    def found(page: Path, name: str) -> type[cb.Learner]:
        if page not in modules:
            module = f"copied_from_{re.sub(r'[^a-z]', '_', page.stem.lower())}"
            (folder / f"{module}.py").write_text("\n".join(_snippets(page)), encoding="utf-8")
            modules[page] = importlib.import_module(module)
        kind: type[cb.Learner] = getattr(modules[page], name)
        return kind

    sys.path.insert(0, str(folder))
    yield found
    sys.path.remove(str(folder))


def _made(kind: type[cb.Learner]) -> cb.Learner:
    wanted = inspect.signature(kind).parameters
    return kind(n_options=4, **({"risk_aversion": 0.5} if "risk_aversion" in wanted else {}))


def test_each_page_shows_a_plain_learner_and_a_compiled_one(shown: Callable[[Path, str], type[cb.Learner]]) -> None:
    kinds = [(page.name, _made(shown(page, name)).compiled) for page, name in SHOWN]
    assert sorted(kinds) == [
        *(("add-a-learner.md", compiled) for compiled in (False, True)),
        *(("compiled-semi-bandit-learner.md", compiled) for compiled in (False, True)),
    ]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(("page", "name"), SHOWN, ids=[name for _, name in SHOWN])
def test_learners_that_pages_show_pass_the_whole_conformance_suite(
    page: Path, name: str, check: str, shown: Callable[[Path, str], type[cb.Learner]]
) -> None:
    class Suite(LearnerConformance):
        memory_rounds = 2_000

        def make(self) -> cb.Learner:
            return _made(shown(page, name))

    getattr(Suite(), check)()


def test_the_readme_example_has_eight_lines_and_learns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    example = _snippets(ROOT / "README.md")[0]
    assert len([line for line in example.splitlines() if line.strip()]) == 8
    names: dict[str, object] = {}
    exec(example, names)
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


@pytest.mark.parametrize("room", sorted(PACKAGE.rglob("__init__.py")), ids=lambda file: str(file.parent.name))
def test_every_room_opens_with_a_table_of_what_is_in_it(room: Path) -> None:
    """By name; `versions/` of the migrations is listed file by file, since a step says what it adds."""
    description = ast.get_docstring(ast.parse(room.read_text(encoding="utf-8"))) or ""
    listed = set(re.findall(r"^``([\w./-]+)``", description, flags=re.MULTILINE))
    folder = room.parent / "versions" if room.parent.name == "migrations" else room.parent
    # A folder that was moved away leaves its __pycache__ behind.
    held = [path.relative_to(folder).parts for path in folder.rglob("*") if path.is_file()]
    folders = {f"{parts[0]}/" for parts in held if len(parts) > 1 and "__pycache__" not in parts}
    sources = {path.name for path in folder.glob("*.py")} - {"__init__.py", "_version.py"}
    others = {"example.toml"} if room.parent.name == "specifications" else set()
    assert listed == folders | sources | others
