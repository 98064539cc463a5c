"""The lists of slow tests name what exists, and leave something quick for every room of the package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from quick_part import SLOW_FILES, SLOW_FIXTURES, SLOW_TESTS, is_quick

HERE = Path(__file__).parent
ROOMS = sorted(path.name for path in (HERE.parent / "src" / "covbandit").iterdir() if (path / "__init__.py").exists())


@pytest.mark.parametrize("name", sorted(SLOW_FILES | set(SLOW_TESTS)))
def test_listed_files_exist_and_are_listed_once(name: str) -> None:
    assert (HERE / name).exists()
    assert name not in SLOW_FILES or name not in SLOW_TESTS


@pytest.mark.parametrize("name", sorted(SLOW_TESTS))
def test_listed_tests_exist_and_others_are_left(name: str) -> None:
    defined = set(re.findall(r"^ *def (test_\w+)\(", (HERE / name).read_text(encoding="utf-8"), flags=re.MULTILINE))
    inherited = {"test_learners_conform.py": {"test_memory_is_bounded", "test_retired_options_get_no_weight"}}
    assert defined | inherited.get(name, set()) > SLOW_TESTS[name]


@pytest.mark.parametrize("name", sorted(SLOW_FIXTURES))
def test_listed_fixtures_exist(name: str) -> None:
    assert re.search(rf"^def {name}\(", (HERE / "conftest.py").read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_each_kind_of_store_but_one_is_left_out(request: pytest.FixtureRequest, store_url: str) -> None:
    assert is_quick(request.node) == store_url.startswith("sqlite")


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_has_a_quick_test(room: str) -> None:
    """By what test files import, or call it by its public name."""
    quick = [path for path in HERE.glob("test_*.py") if path.name not in SLOW_FILES]
    used = re.compile(rf"\bcovbandit\.{room}\b|\bcb\.{room}\b|from covbandit import [^\n]*\b{room}\b")
    assert any(used.search(path.read_text(encoding="utf-8")) for path in quick)
