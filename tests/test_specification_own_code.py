"""What users' own classes and functions do wrong in a specification is told like any other mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from covbandit.errors import InvalidSpecification
from covbandit.specifications import loads

GOOD = """\
horizon = 50
replications = 2
[problem]
preset = "synthetic"
[[learners]]
class = "MCEmpirical"
"""


def _mistakes(text: str) -> list[str]:
    with pytest.raises(InvalidSpecification) as caught:
        loads(text, "spec.toml")
    return list(caught.value.mistakes)


def _own(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str) -> None:
    """Write a module of one's own into a folder, and work there."""
    (folder / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))


OWN = """
import covbandit as cb


def nothing():
    pass


def from_a_dictionary(key="a"):
    return {"a": cb.problems.synthetic()}[key]


def from_a_list(at=0):
    return [cb.problems.synthetic()][at]


class Lost(cb.ProblemDistribution):
    n_options, risk_aversion = 3, 1.0

    def draw(self, seed, index):
        raise KeyError("no such draw")


class Nameless(cb.ProblemDistribution):
    def draw(self, seed, index):
        return cb.problems.synthetic()


class Forgetful(cb.Learner):
    feedback = "all"

    def __init__(self, *, n_options, share=0.5):
        super().__init__(n_options=n_options)

    def _decide(self, t):
        return [1 / self.n_options] * self.n_options

    def _absorb(self, weights, observation):
        pass


class Undecided(cb.Learner):
    feedback = "all"


class Endless(cb.environments.Gaussian):
    def check(self, problem):
        raise RuntimeError("too hard")


class Other(cb.environments.Gaussian):
    def __new__(cls):
        return object()
"""


@pytest.mark.parametrize(
    ("change", "line", "told"),
    [
        (("synthetic", "own_slips:nothing"), 4, "gives NoneType instead of covbandit's Problem"),
        (
            ("synthetic", 'own_slips:from_a_dictionary"\nkey = "b'),
            5,
            "problem.key = \"b\": KeyError: 'b'",
        ),
        (("synthetic", 'own_slips:from_a_list"\nat = [0, 3]#"'), 5, "problem.at[2] = 3: IndexError: list index out of"),
        (("synthetic", "own_slips:Lost"), 3, "problem: KeyError: 'no such draw'"),
        (("synthetic", "own_slips:Nameless"), 3, "problem: AttributeError: 'Nameless' object has no attribute"),
        (("synthetic", "builtins:getattr"), 4, "does not say what it takes; write a function around it"),
        (("synthetic", "math:pi"), 4, "is no preset; one of your own is a function that returns a covbandit.Problem"),
        (
            ("MCEmpirical", "own_slips:Forgetful"),
            6,
            "cannot play the problem: AttributeError: 'Forgetful' object",
        ),
        (("MCEmpirical", "own_slips:Undecided"), 6, "is no learner; one of your own derives from covbandit.Learner"),
        (("MCEmpirical", "covbandit:Learner"), 6, "is no learner; one of your own derives from covbandit.Learner"),
        (
            ("[[learners]]", '[environment]\nclass = "own_slips:Endless"\n[[learners]]'),
            5,
            "environment: RuntimeError: too hard",
        ),
        (
            ("[[learners]]", '[environment]\nclass = "own_slips:Other"\n[[learners]]'),
            6,
            "gives object instead of covbandit's Environment",
        ),
    ],
)
def test_what_ones_own_classes_and_functions_raise_or_return_is_told(
    change: tuple[str, str], line: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _own(tmp_path, monkeypatch, "own_slips", OWN)
    text = GOOD.replace(*change)
    (mistake,) = _mistakes(text)
    assert mistake.startswith(f"spec.toml, line {line}: ")
    assert told in mistake


def test_a_module_that_fails_while_it_is_imported_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _own(tmp_path, monkeypatch, "own_ruin", "import math\n\nmath.nothing\n")
    (mistake,) = _mistakes(GOOD.replace("synthetic", "own_ruin:make"))
    assert "module 'own_ruin' cannot be imported (AttributeError: module 'math' has no attribute 'nothing')" in mistake
