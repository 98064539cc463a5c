"""Every kind of mistake in a specification is told with its line, its key, its value and the way out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from covbandit.errors import InvalidInput, InvalidSpecification
from covbandit.specifications import load, loads

GOOD = """\
horizon = 50
replications = 2
[problem]
preset = "synthetic"
risk_aversion = 0.5
[[learners]]
class = "MCEmpirical"
"""


def _mistakes(text: str, folder: Path | str = ".") -> list[str]:
    with pytest.raises(InvalidSpecification) as caught:
        loads(text, "spec.toml", folder)
    return list(caught.value.mistakes)


def _changed(*changes: tuple[str, str]) -> str:
    text = GOOD
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def test_the_good_one_is_good() -> None:
    assert len(loads(GOOD).simulations) == 1


@pytest.mark.parametrize(
    ("change", "line", "told"),
    [
        # the file as a whole
        (
            ("horizon = 50", "horizont = 50"),
            1,
            'horizont = 50: a specification has no such key; did you mean "horizon"',
        ),
        (("horizon = 50", 'horizon = "50"'), 1, 'horizon = "50": must be a whole number'),
        (("horizon = 50", "horizon = 1.5"), 1, "horizon = 1.5: must be a whole number"),
        (("horizon = 50", "horizon = true"), 1, "horizon = true: must be a whole number"),
        (("horizon = 50", "horizon = 0"), 1, "horizon = 0: must be at least 1"),
        (("horizon = 50\n", ""), 1, "horizon: horizon is missing"),
        (("replications = 2", "seed = -1"), 2, "seed = -1: must be at least 0"),
        (("replications = 2", "checkpoints = 10"), 2, "checkpoints = 10: must be a list"),
        (("replications = 2", "checkpoints = []"), 2, "checkpoints = []: must not be empty"),
        (("replications = 2", "checkpoints = [\n  10,\n  0]"), 4, "checkpoints[2] = 0: must be at least 1"),
        (
            ("replications = 2", "checkpoints = [60]"),
            2,
            "checkpoints = [60]: checkpoints must be whole rounds from 1 to",
        ),
        (("[problem]", "[problems]"), 3, 'problems: a specification has no such key; did you mean "problem"?'),
        (("[[learners]]", "[learners]"), 6, "learners: a specification needs [[learners]], in two brackets"),
        (("[[learners]]", "[environment]"), 1, "learners: a specification needs [[learners]]"),
        (("risk_aversion = 0.5", "seed = 3"), 5, "problem.seed = 3: stands in the wrong table; move it to the top"),
        # syntax
        (('"synthetic"', "synthetic"), 4, 'preset = synthetic: not a value of TOML: text needs quotes ("synthetic")'),
        (("risk_aversion = 0.5", "risk_aversion"), 5, "risk_aversion: expected '=' after a key"),
        (("risk_aversion = 0.5", 'preset = "etf"'), 5, 'preset = "etf": this key is there already; keep one of them'),
        (("[problem]", "[problem"), 3, "[problem: expected ']'"),
        (('"MCEmpirical"\n', '["MCEmpirical"\n'), 7, "the list has no end; close it with ]"),
        # the problem
        (('"synthetic"', '"syntetic"'), 4, 'problem.preset = "syntetic": no such preset; did you mean "synthetic"?'),
        (('"synthetic"', '"nothing alike"'), 4, "no such preset; there are etf, full_information_lower_bound, random,"),
        (('"synthetic"', "5"), 4, "problem.preset = 5: no such preset"),
        (
            ('"synthetic"\nrisk_aversion = 0.5', '"random"\nn_options = 1_000_000_000_000'),
            5,
            "n_options must be at most 10,000, got 1,000,000,000,000",
        ),
        (('"synthetic"', '"nowhere:make"'), 4, "module 'nowhere' cannot be imported (ModuleNotFoundError"),
        (('"synthetic"', '"math:nothing"'), 4, "module 'math' has no 'nothing': correct the name after the colon"),
        (('"synthetic"', '"os:getcwd"'), 5, 'preset "os:getcwd" has no such key; it takes none'),
        (('"synthetic"', '"synthetic"\nmean = [1.0]'), 5, "the problem is given by preset already; keep one of them"),
        (('preset = "synthetic"\n', ""), 3, 'problem: does not say which problem: give preset = "synthetic"'),
        (("risk_aversion = 0.5", "risk_aversion = -1"), 5, "problem.risk_aversion = -1: risk_aversion must not be neg"),
        (("risk_aversion = 0.5", 'risk_aversion = "x"'), 5, 'problem.risk_aversion = "x": must be a number'),
        (
            ("risk_aversion = 0.5", "risk_aversion = nan"),
            5,
            "problem.risk_aversion = NaN: risk_aversion must be finite",
        ),
        (("risk_aversion = 0.5", "risk_aversion = []"), 5, "problem.risk_aversion = []: must not be empty"),
        (("risk_aversion = 0.5", "risk_aversion = [\n1,\n-1]"), 7, "problem.risk_aversion[2] = -1: risk_aversion must"),
        (('"synthetic"', '["synthetic",\n"synthetic"]'), 5, 'problem.preset[2] = "synthetic": the same value stands'),
        (
            ("risk_aversion = 0.5", "risk_aversion = [1, 1.0]"),
            5,
            "problem.risk_aversion[2] = 1.0: the same value stands",
        ),
        (("risk_aversion = 0.5", "off_diagonal = -0.5"), 5, "problem.off_diagonal = -0.5: covariance is not positive"),
        (
            ("risk_aversion = 0.5", "min_wieght = 0.1"),
            5,
            'preset "synthetic" has no such key; did you mean "min_weight"?',
        ),
        (("risk_aversion = 0.5", "sweep = [1]"), 5, "problem.sweep = [1]: must be a table of lists, such as { gamma"),
        (("risk_aversion = 0.5", "sweep = 1"), 5, "problem.sweep = 1: must be a table of lists, such as { gamma"),
        (("risk_aversion = 0.5", "sweep = { min_weight = 1 }"), 5, "problem.sweep.min_weight = 1: must be a list"),
        (
            ("risk_aversion = 0.5", "risk_aversion = 0.5\nsweep = { risk_aversion = [1.0] }"),
            6,
            "problem.sweep.risk_aversion = [1.0]: risk_aversion is given outside of sweep too; keep one of them",
        ),
        (
            ('preset = "synthetic"', "mean = [1.0, 2.0]\ncovariance = [[1.0, 0.9],\n  [0.2, 1.0]]"),
            5,
            "problem.covariance = [[1.0, 0.9], [0.2, 1.0]]: covariance is not symmetric",
        ),
        (
            ('preset = "synthetic"', "mean = [1.0, 2.0]\ncovariance = [[1.0, 2.0], [2.0, 1.0]]"),
            5,
            "problem.covariance = [[1.0, 2.0], [2.0, 1.0]]: covariance is not positive semi-definite",
        ),
        (('preset = "synthetic"', "mean = [1.0, 2.0]"), 3, "problem.covariance: is missing; a problem needs it"),
        (('preset = "synthetic"', 'file = "no.csv"\nkind = "prices"'), 4, 'problem.file = "no.csv": no such file in /'),
        (('preset = "synthetic"', f'file = "{300 * "x"}"\nkind = "prices"'), 4, "no such file in /"),
        (('preset = "synthetic"', 'file = "it.csv"'), 3, "problem.kind: is missing; a problem with file needs it"),
        (
            ('preset = "synthetic"', 'file = "it.csv"\nkind = "price"'),
            5,
            "problem.kind = \"price\": must be 'returns' or",
        ),
        (('preset = "synthetic"', 'file = "it.csv"\nkind = "returns"'), 4, "line 3, column 'B': 'x' is not a finite"),
        (
            ('preset = "synthetic"', 'file = "fine.csv"\nkind = "returns"\noptions = ["A", "C"]'),
            6,
            'problem.options = ["A", "C"]: option \'C\' is not in',
        ),
        (('preset = "synthetic"', 'packaged = "skfolio/x"'), 4, "no packaged data 'skfolio/x'"),
        # learners
        (('class = "MCEmpirical"', 'name = "x"'), 6, "learners[1].class: is missing; a learner needs it:"),
        (('"MCEmpirical"', '"MC-Empirical"'), 7, 'no such learner; did you mean "MCEmpirical"?'),
        (('"MCEmpirical"', '"builtins:dict"'), 7, 'learners[1].class = "builtins:dict": is no learner'),
        (('"MCEmpirical"', '"MCEmpirical"\nname = 3'), 8, "learners[1].name = 3: must be text, in quotes"),
        (
            ('"MCEmpirical"', '"MCEmpirical"\nhalflife = 3'),
            8,
            'learner "MCEmpirical" has no such key; did you mean "half_',
        ),
        (('"MCEmpirical"', '"MCEmpirical"\nhalf_life = -3'), 8, "learners[1].half_life = -3: half_life must be"),
        (('"MCEmpirical"', '"OGD"\ngradient = "simple"'), 8, "gradient = \"simple\": must be 'sample' or 'plugin'"),
        (
            ('"MCEmpirical"', '"MCEmpirical"\nrisk_aversion = 0.1'),
            8,
            "learners[1].risk_aversion = 0.1: contradicts the problem: its risk_aversion is 0.1, the problem's 0.5;",
        ),
        (
            ('"MCEmpirical"', '"MCEmpirical"\nn_options = 3'),
            8,
            "n_options = 3: contradicts the problem: it has 3 options",
        ),
        (
            ('"MCEmpirical"', '"MCEmpirical"\n[[learners]]\nclass = "MCEmpirical"'),
            9,
            "learners[2].class = \"MCEmpirical\": there is a learner 'MCEmpirical' already, learners[1]; give one",
        ),
        (
            ('"MCEmpirical"', '["MCEmpirical", "MCEmpirical"]'),
            7,
            'learners[1].class[2] = "MCEmpirical": the same value stands in the list before; remove it',
        ),
        # environments
        (
            ("[[learners]]", '[environment]\nclass = ["Gaussian", "Gaussian"]\n[[learners]]'),
            7,
            'environment.class[2] = "Gaussian": the same value stands in the list before',
        ),
        (
            ("[[learners]]", '[environment]\nclass = "Gauss"\n[[learners]]'),
            7,
            'no such environment; did you mean "Gaussian"',
        ),
        (("[[learners]]", "[environment]\ndf = 3.0\n[[learners]]"), 6, "environment.class: is missing; an environment"),
        (
            ("[[learners]]", '[environment]\nclass = "StudentT"\ndf = [5.0, 1.5]\n[[learners]]'),
            8,
            "environment.df[2] = 1.5: df must be above 2",
        ),
        (
            ("[[learners]]", '[environment]\nclass = "Gaussian"\ndf = 5\n[[learners]]'),
            8,
            'environment "Gaussian" has no',
        ),
        (
            ("[[learners]]", '[environment]\nclass = "Replay"\n[[learners]]'),
            7,
            "needs a history, which this problem has",
        ),
    ],
)
def test_each_kind_of_mistake(change: tuple[str, str], line: int, told: str, tmp_path: Path) -> None:
    (tmp_path / "it.csv").write_text("A,B\n0.1,0.2\n0.3,x\n0.2,0.1\n", encoding="utf-8")
    (tmp_path / "fine.csv").write_text("A,B\n0.1,0.2\n0.3,0.1\n", encoding="utf-8")
    text = _changed(change)
    (mistake,) = _mistakes(text, tmp_path)
    assert mistake.startswith(f"spec.toml, line {line}: ")
    assert told in mistake


@pytest.mark.parametrize(
    ("tail", "line", "told"),
    [
        ('[learners.mine]\nclass = "OGD"\n', 9, "learners: a specification needs [[learners]], in two brackets"),
        ('[[learners.mine]]\nclass = "OGD"\n', 9, "learners: a specification needs [[learners]], in two brackets"),
        ('[learners]\nclass = "OGD"\n', 9, "learners: a specification needs [[learners]], in two brackets"),
        ('[learners.mine.deep]\nclass = "OGD"\n', 9, "learners: a specification needs [[learners]]"),
        ('[learner.mine]\nclass = "OGD"\n', 9, 'learner: a specification has no such key; did you mean "learners"?'),
        ('learners.mine.class = "OGD"\n', 9, "problem.learners: stands in the table [problem]; a specification needs"),
        ('learners = [{ class = "OGD" }]\n', 9, "stands in the table [problem]; a specification needs [[learners]]"),
        ('[[learners]]\nclass = "OGD"\n[[environment]]\nclass = "Gaussian"\n', 11, "must be a table"),
        ('[[learners]]\nclass = "OGD"\n[[problem.sweep]]\nrisk_aversion = 1\n', 11, "must be a table of lists"),
        ('[[learners]]\nclass = "OGD"\n\n[output.files]\nx = 1\n', 12, "output: a specification has no such key"),
        ('[[learners]]\nclass = "OGD"\n[learners.a.b]\nx = 1\n', 11, 'learners[1].a: learner "OGD" has no such key'),
        ('[[learners]]\nclass = "OGD"\nsweep.stap.x = 1\n', 11, "learners[1].sweep.stap: learner"),
        ('[[learners]]\nclass = "OGD"\nsweep = { step.x = 1 }\n', 11, "learners[1].sweep.step: must be a list"),
    ],
)
def test_a_wrong_header_is_told_with_its_own_line(tail: str, line: int, told: str) -> None:
    (mistake,) = _mistakes('horizon = 10\nreplications = 2\n\n[problem]\npreset = "synthetic"\n# a remark\n\n\n' + tail)
    assert mistake.startswith(f"spec.toml, line {line}: ")
    assert told in mistake


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    text = _changed(
        ("replications = 2", "replications = 2\nenvironment = { class = 'StudentT', df = 1.0 }"),
        ("risk_aversion = 0.5", "risk_aversion = -0.5"),
        ('"MCEmpirical"', '"MCEmpirical"\nhalf_life = "long"\n[[learners]]\nclass = "Nobody"'),
    )
    with pytest.raises(InvalidSpecification) as caught:
        loads(text, "spec.toml")
    assert [re.findall(r"line \d+", mistake)[0] for mistake in caught.value.mistakes] == ["line 6", "line 9", "line 11"]
    assert str(caught.value).splitlines() == ["spec.toml has 3 mistakes", *(f"  {m}" for m in caught.value.mistakes)]


def test_a_learner_that_cannot_play_the_problem() -> None:
    text = _changed(("risk_aversion = 0.5", "risk_aversion = [0.5, 1.0]\nmin_weight = 0.1"), ("MCEmpirical", "MCETE"))
    (mistake,) = _mistakes(text)  # once, not once per problem
    assert mistake.startswith(
        'spec.toml, line 8: learners[1].class = "MCETE": cannot play the problem (risk_aversion=0'
    )
    assert "its min_weight is None, the problem's 0.1; choose another learner or problem" in mistake


def test_sweeps_too_large_to_be_meant() -> None:
    many = ", ".join(map(str, range(101)))
    text = _changed(("risk_aversion = 0.5", f"risk_aversion = [{many}]\nmin_weight = [{many}]"))
    assert "problem: its lists combine to 10,201 alternatives; 10,000 are the most: shorten them" in _mistakes(text)[0]
    text = _changed(
        ("risk_aversion = 0.5", f"risk_aversion = [{many}]"),
        ("[[learners]]", "[environment]\nclass = 'StudentT'\ndf = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]\n[[learners]]"),
    )
    assert _mistakes(text) == [
        "spec.toml, line 1: the lists combine to 1,010 simulations; 1,000 are the most: shorten them"
    ]


def test_a_replay_is_not_compared_with_other_environments() -> None:
    text = _changed(
        ("synthetic", "etf"),
        ("horizon = 50", "horizon = 5"),
        ("[[learners]]", "[environment]\nclass = ['Replay', 'Gaussian']\n[[learners]]"),
    )
    (mistake,) = _mistakes(text)
    assert "line 7: environment.class" in mistake
    assert "give it a specification of its own" in mistake


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"cannot read the specification .*no\.toml: No such file.*--example"):
        load(tmp_path / "no.toml")
    with pytest.raises(InvalidInput, match=r"cannot read the specification .*: Is a directory$"):
        load(tmp_path)
    (tmp_path / "it.toml").write_bytes(b"horizon = 5\ntitle = '\xff'\n")
    with pytest.raises(InvalidSpecification, match=r"it\.toml, line 2: is not UTF-8 text"):
        load(tmp_path / "it.toml")
    with pytest.raises(InvalidInput, match="replications must be at least 1, got 0"):
        loads(GOOD, replications=0)


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ('a = 1\nb = "x', 2, 'b = "x: unterminated string'),
        ("a = 1\nb = [1,\n2", 3, "2: the list has no end; close it with ]"),
        ("a = 1\nb = [1,\n2\n\n\n", 3, "2: the list has no end; close it with ]"),
        ("a = 1\r\nb", 2, "b: expected '=' after a key"),
    ],
)
def test_the_end_of_a_file_is_its_last_line_with_or_without_a_line_end(text: str, line: int, told: str) -> None:
    (mistake,) = _mistakes(text)
    assert mistake.startswith(f"spec.toml, line {line}: {told}")


def test_texts_that_are_no_specification_by_any_stretch(tmp_path: Path) -> None:
    (mistake,) = _mistakes(_changed(("replications = 2", "replications = " + 5000 * "9")))
    assert mistake.startswith("spec.toml, line 2: a number has too many digits")
    (mistake,) = _mistakes("a = " + "[" * 3000 + "]" * 3000)
    assert "nested too deep" in mistake
    for wrong in (None, b"horizon = 5", 3):
        with pytest.raises(InvalidInput, match=rf"must be text \(str\) in TOML, got {type(wrong).__name__}"):
            loads(wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="path must be the name of a file or folder, got"):
            load(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="folder must be the name of a file or folder, got None"):
        loads(GOOD, folder=None)  # type: ignore[arg-type]
    for name, cause in (("x" * 300, "File name too long"), ("a\0b", "the name of a file cannot contain a null byte")):
        with pytest.raises(InvalidInput, match=f"cannot read the specification .*{cause}"):
            load(tmp_path / name)


def test_a_horizon_that_contradicts_the_instance_is_a_mistake_and_an_override_wins() -> None:
    text = _changed(
        ("horizon = 50", "horizon = 20"),
        ("synthetic", "full_information_lower_bound"),
        ("risk_aversion = 0.5", "n_options = 3\nhorizon = 100"),
    )
    (mistake,) = _mistakes(text)
    assert mistake == (
        "spec.toml, line 6: problem.horizon = 100: the problem is made for 100 rounds, but horizon = 20 at the top are "
        "played; leave horizon out here, and it is taken from there"
    )
    (mistake,) = _mistakes(text.replace("horizon = 100", "horizon = [20, 100]"))
    assert "line 6: problem.horizon[2] = 100: the problem is made for 100 rounds" in mistake
    for given in ("horizon = 100", "horizon = [20, 100]", "sweep = { horizon = [20, 100] }"):
        (simulation,) = loads(text.replace("horizon = 100", given), horizon=5000).simulations
        assert (simulation.plan.horizon, simulation.problem.horizon) == (5000, 5000)  # type: ignore[union-attr]
    with pytest.raises(InvalidSpecification, match="stands in the wrong table"):
        loads(_changed(("risk_aversion = 0.5", "horizon = 100")), horizon=5000)


def test_a_history_in_a_specification_says_how_it_is_meant(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text(
        "date;A;B\n01/02/2024;1,234;1,500\n02/02/2024;1,250;1,490\n03/02/2024;1,240;1,510\n04/02/2024;1,260;1,500\n",
        encoding="utf-8",
    )
    text = (
        'horizon = 10\nreplications = 2\n[problem]\nfile = "prices.csv"\nkind = "prices"\nrisk_aversion = 1.0\n{}'
        '[[learners]]\nclass = "MCEmpirical"\n'
    )
    for more, message in (("", "decimal="), ('decimal = "."\n', "dates="), ('decimal = "."\ndates = "us"\n', "dates")):
        path = tmp_path / "s.toml"
        path.write_text(text.format(more), encoding="utf-8")
        with pytest.raises(InvalidSpecification, match=message):
            load(path)
    path.write_text(text.format('decimal = "."\ndates = "day-first"\ncheck = false\n'), encoding="utf-8")
    assert load(path)
