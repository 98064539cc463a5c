"""Specifications: what they describe is what runs, and a sweep is one table."""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.core.tables import Table
from covbandit.errors import MissingExtra
from covbandit.specifications import example, load, loads

SWEEP = """
title = "Two sweeps"
horizon = 120
replications = 3
seed = 5
checkpoints = [50]

[problem]
preset = "synthetic"
min_weight = 0.1
risk_aversion = [0.1, 10]
off_diagonal = [-0.05, 0.3]

[[learners]]
class = "PairUCB"
bonus = [0.5, 0.7]

[[learners]]
class = "FixedWeights"
name = "equal weights"
"""


def test_a_sweep_gives_the_numbers_of_direct_calls(tmp_path: Path) -> None:
    spec = loads(SWEEP)
    assert [each.label for each in spec.simulations] == [
        "risk_aversion=0.1, off_diagonal=-0.05",
        "risk_aversion=0.1, off_diagonal=0.3",
        "risk_aversion=10, off_diagonal=-0.05",
        "risk_aversion=10, off_diagonal=0.3",
    ]
    sweep = spec.run(tmp_path)
    for (rho, correlation), result in zip(
        [(0.1, -0.05), (0.1, 0.3), (10, -0.05), (10, 0.3)], sweep.results, strict=True
    ):
        direct = cb.simulate(
            cb.problems.synthetic(rho, 0.1, correlation),
            {
                "PairUCB, bonus=0.5": cb.PairUCB(n_options=5, risk_aversion=rho, min_weight=0.1, bonus=0.5),
                "PairUCB, bonus=0.7": cb.PairUCB(n_options=5, risk_aversion=rho, min_weight=0.1, bonus=0.7),
                "equal weights": cb.FixedWeights(n_options=5),
            },
            120,
            3,
            5,
            checkpoints=result.checkpoints,
        )
        assert direct.learners == result.learners
        assert np.array_equal(direct.regret, result.regret)
        assert 50 in result.checkpoints


def test_a_sweep_is_one_table_in_several_formats(tmp_path: Path) -> None:
    sweep = loads(SWEEP).run(tmp_path)
    summary = sweep.summary()
    assert summary.columns[:4] == ["risk_aversion", "off_diagonal", "learner", "mean regret"]
    assert len(summary.rows) == 4 * 3
    assert summary.rows[4][:3] == [0.1, 0.3, "PairUCB, bonus=0.7"]
    assert summary.rows[4][3] == sweep.results[1].at("PairUCB, bonus=0.7").mean()
    files, notes = sweep.write(tmp_path)
    assert notes == []
    assert [file.name for file in files] == [
        "table.csv", "table.tex", "table.parquet", "figure.png", "figure.svg", "figure.pdf"
    ]  # fmt: skip
    with (tmp_path / "table.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 3 * 2
    last = rows[10]
    assert (last["off_diagonal"], last["learner"], last["bonus"], last["round"]) == (
        "0.3",
        "PairUCB, bonus=0.7",
        "0.7",
        "120",
    )
    assert float(last["mean regret"]) == sweep.results[1].at("PairUCB, bonus=0.7").mean()
    assert rows[8]["bonus"] == ""
    import pandas as pd

    stored = pd.read_parquet(tmp_path / "table.parquet")
    assert stored["mean regret"].tolist() == [float(row["mean regret"]) for row in rows]
    text = (tmp_path / "table.tex").read_text(encoding="utf-8")
    assert text.startswith("\\begin{tabular}{rrlrrrrrrr}")
    assert text.count("\\\\\n") == 1 + len(rows)
    frame = sweep.to_frame()
    here = frame[(frame["risk_aversion"] == 10) & (frame["off_diagonal"] == 0.3) & (frame["round"] == 120)]
    assert here["regret"].tolist() == sweep.results[3].regret[:, :, -1].ravel().tolist()


def test_without_pyarrow_everything_else_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = loads(SWEEP.replace("[0.1, 10]", "1.0").replace("[-0.05, 0.3]", "0.0")).run(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    files, notes = sweep.write(tmp_path)
    assert [file.name for file in files] == ["table.csv", "table.tex", "figure.png", "figure.svg", "figure.pdf"]
    assert notes == ["table.parquet was not written: Parquet files need pyarrow: pip install 'covbandit[parquet]'"]
    with pytest.raises(MissingExtra):
        sweep.table().to_parquet(tmp_path / "table.parquet")


def test_small_multiples_share_axes_colours_and_one_legend(tmp_path: Path) -> None:
    figure = loads(SWEEP).run(tmp_path).plot()
    axes = figure.axes
    assert [ax.get_title() for ax in axes] == [each.label for each in loads(SWEEP).simulations]
    assert len({ax.get_subplotspec().get_gridspec().get_geometry() for ax in axes}) == 1  # type: ignore[union-attr]
    assert axes[0].get_subplotspec().get_gridspec().get_geometry() == (2, 2)  # type: ignore[union-attr]
    assert len({ax.get_ylim() for ax in axes}) == 1
    assert len({tuple(line.get_color() for line in ax.get_lines()) for ax in axes}) == 1
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(loads(SWEEP).learners)
    assert all(ax.get_legend() is None for ax in axes)


def test_a_longer_list_computes_only_what_is_new(tmp_path: Path) -> None:
    loads(SWEEP).run(tmp_path)
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.npz")}
    assert len(stamps) == 4
    loads(SWEEP.replace("[0.1, 10]", "[0.1, 1.0, 10]")).run(tmp_path)
    assert len(list(tmp_path.glob("*.npz"))) == 6
    assert stamps == {path: path.stat().st_mtime_ns for path in stamps}


def test_the_example_runs_as_it_is_and_names_what_it_does(tmp_path: Path) -> None:
    (tmp_path / "example.toml").write_text(example(), encoding="utf-8")
    spec = load(tmp_path / "example.toml", horizon=200, replications=2)
    assert list(spec.learners) == [
        "MC-Empirical",
        "OGD, gradient=sample",
        "OGD, gradient=plugin",
        "equal weights",
        "fixed, weights=[0.1, 0.6, 0.1, 0.1, 0.1]",
        "fixed, weights=[0.0, 1.0, 0.0, 0.0, 0.0]",
    ]
    assert spec.rounds == (200,)  # what lies beyond a shorter horizon is left out
    sweep = spec.run(tmp_path)
    assert sweep.labels == ["off_diagonal=-0.2", "off_diagonal=0", "off_diagonal=0.5"]
    assert sweep.table().columns[:5] == ["off_diagonal", "learner", "gradient", "weights", "round"]
    assert sweep.results[0].specification["environment"] == {"environment": "StudentT", "df": 5.0}


def test_inline_problems_and_what_learners_take_from_them() -> None:
    spec = loads(
        """
        horizon = 10
        [problem]
        mean = [0.1, 0.2, 0.3]
        covariance = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        risk_aversion = 2
        max_weight = [0.5, 0.5, 1.0]
        options = ["a", "b", "c"]
        [[learners]]
        class = "MCEmpirical"
        half_life = 20.0
        hold = [[0.5, 0.25, 0.25], 3]
        """
    )
    (simulation,) = spec.simulations
    assert simulation.replications == 50
    learner = simulation.plan.learners["MCEmpirical"]
    assert (learner.n_options, learner.risk_aversion, learner.half_life) == (3, 2.0, 20.0)  # type: ignore[attr-defined]
    assert learner.max_weight is not None
    assert learner.max_weight.tolist() == [0.5, 0.5, 1.0]
    assert simulation.problem.options == ("a", "b", "c")


def test_several_presets_classes_and_environments() -> None:
    spec = loads(
        """
        horizon = 10
        [problem]
        preset = ["synthetic", "etf"]
        [[learners]]
        class = ["MCEmpirical", "OGD"]
        name = "ours"
        [environment]
        class = ["Gaussian", "Bounded"]
        """
    )
    assert [each.swept for each in spec.simulations] == [
        {"preset": preset, "environment": kind} for preset in ("synthetic", "etf") for kind in ("Gaussian", "Bounded")
    ]
    assert list(spec.learners) == ["ours, MCEmpirical", "ours, OGD"]
    assert spec.simulations[0].name == "preset-synthetic_environment-Gaussian"


def test_the_hard_instances_take_the_horizon() -> None:
    spec = loads(
        """
        horizon = 400
        replications = 2
        [problem]
        preset = "full_information_lower_bound"
        n_options = [3, 5]
        [[learners]]
        class = "MCEmpirical"
        """
    )
    assert [each.problem.risk_aversion for each in spec.simulations] == [0.05, 0.05]
    assert [each.plan.learners["MCEmpirical"].n_options for each in spec.simulations] == [3, 5]


FILE = """
[problem]
file = "prices.csv"
kind = "prices"
unit = "percent"
risk_aversion = [0.1, 1.0]
[[learners]]
class = "MCEmpirical"
[environment]
"""


def test_a_data_file_is_found_beside_the_specification(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    prices = 100 * np.exp(np.cumsum(0.01 * rng.standard_normal((30, 2)), axis=0))
    lines = [
        "date,A,B",
        *(f"2024-{k // 28 + 1:02}-{k % 28 + 1:02},{a},{b}" for k, (a, b) in enumerate(prices.tolist())),
    ]
    (tmp_path / "prices.csv").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "boot.toml").write_text(
        "horizon = 40\nreplications = 3\n" + FILE + 'class = "Bootstrap"\nblock = 5.0\n', encoding="utf-8"
    )
    sweep = load(tmp_path / "boot.toml").run(tmp_path / "boot")
    history = cb.data.read_returns(tmp_path / "prices.csv", kind="prices", unit="percent")
    direct = cb.simulate(
        history.problem(1.0),
        cb.MCEmpirical(n_options=2, risk_aversion=1.0),
        40,
        3,
        environment=cb.environments.Bootstrap(history, 5.0),
    )
    assert np.array_equal(sweep.results[1].regret, direct.regret)
    (tmp_path / "replay.toml").write_text(FILE + 'class = "Replay"\n', encoding="utf-8")
    spec = load(tmp_path / "replay.toml")
    assert spec.notes == ()
    replay = spec.run(tmp_path / "replay")
    assert [len(result.replications) for result in replay.results] == [1, 1]
    assert replay.summary().columns[:4] == ["risk_aversion", "learner", "mean", "sd"]
    assert len(replay.table().rows) == 4  # of each, the learner and the best constant weights
    files, _ = replay.write(tmp_path)
    assert all(file.stat().st_size for file in files)
    (tmp_path / "prices.csv").write_text("\n".join([*lines, "2030-01-01,,1"]), encoding="utf-8")
    (note,) = load(tmp_path / "replay.toml").notes
    assert note.startswith("1 of 30 rounds dropped, because a value is missing")


OWN = """
import covbandit as cb


class Constant(cb.Learner):
    feedback = "all"

    def __init__(self, *, n_options, share=0.5, options=None, seed=None, hold=None):
        self.share = share
        super().__init__(n_options=n_options, options=options, seed=seed, hold=hold)

    def _decide(self, t):
        return [self.share, 1 - self.share]

    def _absorb(self, weights, observation):
        pass


def make(spread=0.1):
    return cb.Problem(mean=[0, spread], covariance=[[1, 0], [0, 1]], risk_aversion=1)
"""


def test_classes_of_ones_own_are_imported_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_own_things.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    spec = loads(
        """
        horizon = 10
        replications = 2
        [problem]
        preset = "my_own_things:make"
        spread = [0.1, 0.2]
        [[learners]]
        class = "my_own_things:Constant"
        share = [0.2, 0.9]
        """
    )
    assert list(spec.learners) == ["Constant, share=0.2", "Constant, share=0.9"]
    result = spec.run(tmp_path).results[0]
    assert result.weights[1, 0, -1].tolist() == pytest.approx([0.9, 0.1])


def test_every_specification_in_the_documentation_is_right() -> None:
    page = Path(__file__).resolve().parent.parent / "docs" / "specifications.md"
    blocks = re.findall(r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 2
    for block in blocks:
        assert loads(block).simulations


def test_more_learners_than_colours_still_look_different(tmp_path: Path) -> None:
    bonuses = ", ".join(f"{0.1 * k:.1f}" for k in range(1, 10))
    spec = loads(
        f"""
        horizon = 60
        replications = 1
        [problem]
        preset = "synthetic"
        min_weight = 0.2
        [[learners]]
        class = "PairUCB"
        bonus = [{bonuses}]
        """
    )
    lines = spec.run(tmp_path).plot().axes[0].get_lines()
    assert len({(line.get_color(), str(line.get_linestyle()), line.get_marker()) for line in lines}) == 9


def test_required_values_can_be_swept_and_columns_of_mixed_kinds_are_text(tmp_path: Path) -> None:
    spec = loads(
        """
        horizon = 20
        replications = 2
        [problem]
        sweep = { mean = [[0.1, 0.2], [0.3, 0.2]] }
        covariance = [[1.0, 0.0], [0.0, 1.0]]
        risk_aversion = 1
        min_weight = 0.1
        [[learners]]
        class = "MCUCBGamma"
        sweep = { gamma = [1.0, [[2.0, 1.0], [1.0, 2.0]]] }
        [[learners]]
        class = "FixedWeights"
        [environment]
        class = "Bounded"
        """
    )
    sweep = spec.run(tmp_path)
    table = sweep.table().to_dict()
    assert table["mean"] == ["[0.1, 0.2]"] * 3 + ["[0.3, 0.2]"] * 3
    assert table["gamma"] == ["1", "[[2.0, 1.0], [1.0, 2.0]]", None] * 2
    sweep.table().to_parquet(tmp_path / "table.parquet")
    assert spec.simulations[0].name == "mean--0.1-0.2-"


def test_labels_tell_close_values_apart() -> None:
    text = SWEEP.replace("[0.5, 0.7]", "[0.1234567, 0.1234568, 0.5, 3e-9]")
    assert list(loads(text).learners)[:4] == [
        "PairUCB, bonus=0.1234567",
        "PairUCB, bonus=0.1234568",
        "PairUCB, bonus=0.5",
        "PairUCB, bonus=3e-09",
    ]


def test_dollars_and_underscores_of_users_are_drawn_letter_by_letter(tmp_path: Path) -> None:
    text = SWEEP.replace('"Two sweeps"', "'$\\frac$ costs $5'").replace('"equal weights"', '"_hidden"')
    text = text.replace('class = "PairUCB"', 'class = "PairUCB"\nname = "cost $a_{$ b"')
    text = text.replace('preset = "synthetic"', "sweep = { name = ['$x_{$', 'plain'] }").replace("off_diagonal", "#")
    two_options = "mean = [0.1, 0.2]\ncovariance = [[1, 0], [0, 1]]\nrisk_aversion = 1"
    text = text.replace("risk_aversion = [0.1, 10]", two_options)
    sweep = loads(text).run(tmp_path)
    figure = sweep.plot()
    figure.draw_without_rendering()
    legend = figure.legends[0].get_texts()
    assert [_as_drawn(entry) for entry in legend] == ["cost $a_{$ b, bonus=0.5", "cost $a_{$ b, bonus=0.7", " _hidden"]
    assert [_as_drawn(ax.title) for ax in figure.axes] == ["name=$x_{$", "name=plain"]
    assert _as_drawn(figure._suptitle) == "$\\frac$ costs $5"  # type: ignore[attr-defined]
    files, _ = sweep.write(tmp_path)
    assert all(file.stat().st_size for file in files)


def _as_drawn(text: Any) -> str:
    """Return the letters that Matplotlib draws; it must not take them for mathematics."""
    letters, is_mathematics = text._preprocess_math(text.get_text())
    assert is_mathematics is False
    return str(letters)


def test_rows_of_a_latex_table_are_not_taken_for_arguments_of_what_stands_before_them() -> None:
    table = Table(["[name]", "x"], [["[0.1, 0.2]", 1], ["*best", 2]])
    lines = table.to_latex().splitlines()
    assert lines[2:6:3] + lines[4:5] == [r"{[}name{]} & x \\", r"{*}best & 2 \\", r"{[}0.1, 0.2{]} & 1 \\"]


def test_whole_numbers_beyond_64_bits_are_text_in_parquet(tmp_path: Path) -> None:
    sweep = loads(
        """
        horizon = 10
        replications = 2
        [problem]
        preset = "random"
        n_options = 2
        seed = [1, 100_000_000_000_000_000_000_000]
        [[learners]]
        class = "FixedWeights"
        """
    ).run(tmp_path)
    sweep.write(tmp_path)
    import pandas as pd

    assert pd.read_parquet(tmp_path / "table.parquet")["seed"].tolist() == ["1", str(10**23)]
    assert sweep.table().to_dict()["seed"] == [1, 10**23]
    Table(["x"], [[2**63 - 1], [-(2**63)], [None]]).to_parquet(tmp_path / "x.parquet")
    assert pd.read_parquet(tmp_path / "x.parquet", dtype_backend="pyarrow")["x"].tolist()[:2] == [2**63 - 1, -(2**63)]


SHORT = """
import covbandit as cb


class Short(cb.environments.Gaussian):
    def __init__(self, rounds: int):
        self.rounds = rounds

    @property
    def length(self):
        return self.rounds
"""


def test_simulations_of_different_lengths_report_their_own_last_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "short_of_rounds.py").write_text(SHORT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sweep = loads(
        """
        replications = 2
        checkpoints = [10]
        [problem]
        preset = "synthetic"
        [[learners]]
        class = "FixedWeights"
        [environment]
        class = "short_of_rounds:Short"
        rounds = [30, 20]
        """
    ).run(tmp_path)
    table = sweep.table().to_dict()
    assert list(zip(table["rounds"], table["round"], strict=True)) == [(30, 10), (30, 30), (20, 10), (20, 20)]
    assert sweep.summary().title.splitlines() == [
        "rounds=30: Regret after 30 rounds, 2 replications",
        "rounds=20: Regret after 20 rounds, 2 replications",
    ]


def test_replayed_files_of_different_lengths_are_titled_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("date,A,B\n2020,0.1,0.2\n2021,0.3,0.1\n", encoding="utf-8")
    (tmp_path / "three.csv").write_text("date,A,B\n2017,0.1,0.2\n2018,0.3,0.1\n2019,0.2,0.2\n", encoding="utf-8")
    text = FILE.replace('"prices.csv"', '["two.csv", "three.csv"]').replace('"prices"', '"returns"')
    text = text.replace("[0.1, 1.0]", "0.1") + 'class = "Replay"\n'
    sweep = loads(text, folder=tmp_path).run(tmp_path / "results")
    assert [line.partition(", one path")[0] for line in sweep.summary().title.splitlines()] == [
        "file=two.csv: Realised in 2 rounds, 2020 to 2021",
        "file=three.csv: Realised in 3 rounds, 2017 to 2019",
    ]
