"""Returns: the central type of the data room, and market data inside installed packages."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import covbandit as cb
from covbandit.data import datasets
from covbandit.errors import InvalidInput, MissingExtra

VALUES = [[1.0, 2.0, 0.5], [3.0, -1.0, 0.5], [2.0, 0.0, 0.5], [0.0, 4.0, 0.5]]


def _returns(**changes: Any) -> cb.data.Returns:
    return cb.data.Returns(**{"values": VALUES, "options": ["a", "b", "c"], "unit": "percent", **changes})


def test_moments_divide_by_n() -> None:
    r = _returns()
    np.testing.assert_allclose(r.mean, np.mean(VALUES, axis=0))
    np.testing.assert_allclose(r.covariance, np.cov(np.array(VALUES).T, bias=True), atol=1e-15)
    assert r.covariance[2, 2] == 0  # not rounding
    assert len(r) == 4
    assert r.n_options == 3
    assert r.index == ("1", "2", "3", "4")


def test_it_does_not_change() -> None:
    mine = np.array(VALUES)
    r = _returns(values=mine)
    mine[:] = 7
    assert r.values.tolist() == VALUES
    for array in (r.values, r.mean, r.covariance):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(FrozenInstanceError):
        r.unit = "fraction"  # type: ignore[misc]


def test_units() -> None:
    percent = _returns()
    fraction = percent.to_fraction()
    assert fraction.unit == "fraction"
    np.testing.assert_allclose(fraction.values, np.array(VALUES) / 100)
    np.testing.assert_allclose(fraction.to_percent().values, VALUES)
    assert percent.to_percent() is percent
    # ρ has the inverse unit: the same weights.
    np.testing.assert_allclose(
        percent.problem(0.1).optimum().weights, fraction.problem(10.0).optimum().weights, rtol=0, atol=1e-12
    )


def test_select() -> None:
    r = _returns(index=["w", "x", "y", "z"], source="s", notes=["n"]).select(["c", "a"])
    assert r.options == ("c", "a")
    assert r.values.tolist() == [[0.5, 1.0], [0.5, 3.0], [0.5, 2.0], [0.5, 0.0]]
    assert (r.index, r.unit, r.source, r.notes) == (("w", "x", "y", "z"), "percent", "s", ("n",))
    with pytest.raises(InvalidInput, match="option 'd' is not in these returns"):
        r.select(["d"])


def test_the_problem_is_named_for_what_it_is() -> None:
    problem = _returns(source="my file").problem(0.5, max_weight=0.6)
    assert problem.name == "fitted to 4 returns (percent, 1 to 4) of a, b, c, my file"
    assert problem.risk_aversion == 0.5
    assert problem.max_weight is not None
    assert problem.variance_bound == problem.covariance.diagonal().max()
    np.testing.assert_array_equal(problem.covariance, _returns().covariance)
    assert _returns().problem(0.5, 0.2, name="mine").name == "mine"
    assert "eight annual returns (2010-2017, percent) of five ETFs of our choice" in str(cb.problems.etf().name)
    assert cb.problems.etf().variance_bound == pytest.approx(269.84, abs=0.01)
    many = cb.data.Returns(np.eye(9), options=[f"o{k}" for k in range(9)])
    assert repr(many) == "Returns(9 rounds of 9 options; fraction; 1 to 9)"


def test_plain_data_and_frames() -> None:
    r = _returns(index=["w", "x", "y", "z"], notes=["n"])
    again = cb.data.Returns(**r.to_dict())
    assert again.to_dict() == r.to_dict()
    assert again.sha256 == r.sha256 == pickle.loads(pickle.dumps(r)).sha256
    assert r.sha256 != _returns(options=["a", "b", "d"]).sha256
    assert r.sha256 != _returns(values=np.array(VALUES) + np.eye(4, 3) * 1e-15).sha256
    frame = r.to_frame()
    assert list(frame.columns) == ["a", "b", "c"]
    assert list(frame.index) == ["w", "x", "y", "z"]
    assert frame.to_numpy().tolist() == VALUES
    np.testing.assert_array_equal(
        cb.data.read_returns(frame[["a", "b"]], kind="returns", unit="percent").values, r.values[:, :2]
    )


def test_summary_prints_the_variance_bound_and_the_notes() -> None:
    lines = str(_returns(notes=["3 of 7 rounds dropped"]).summary()).splitlines()
    assert lines[:3] == [
        "4 returns in percent, 1 to 4",
        "largest variance (variance_bound): 3.6875",
        "3 of 7 rounds dropped",
    ]
    assert lines[4].split() == ["a", "1.5", "1.118", "0", "3"]


def test_risk_paths_take_them() -> None:
    r = cb.data.etf_returns()
    path = cb.risk_path(r, points=5)
    assert path.options == r.options
    assert repr(path) == repr(cb.risk_path(r.problem(1.0), points=5))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": [[1.0, 2.0, 3.0]]}, r"at least two rows \(periods\) .*got 1 × 3"),
        ({"values": np.zeros((3, 0)), "options": []}, "got 3 × 0"),
        ({"values": [1.0, 2.0]}, r"must have 2 dimension"),
        ({"values": [[1.0, np.nan, 0], [1, 1, 1]]}, r"option 'b' \(index 1\): the return of '1' is nan"),
        ({"values": [[1.0, 0, 0], [1, 1, 1e200]]}, r"option 'c' \(index 2\): the return of '2' is 1e\+200"),
        ({"options": ["a", "b"]}, "options must name 3 options, got 2"),
        ({"options": ["a", "b", "a"]}, "option 'a' is named twice"),
        ({"index": ["1", "2"]}, "index must label 4 rows, got 2"),
        ({"index": ["1", "2", "1", "3"]}, "period '1' occurs twice, in row 1 and in row 3"),
        ({"index": ["2024-01-02", "2024-01-03", "2024-01-04", "2024-01-03 00:00"]}, "twice, in row 2 and in row 4"),
        ({"index": None}, "index must be a list of strings, got None"),
        ({"index": 5}, "index must be a list of strings, got 5"),
        ({"index": "wxyz"}, "index must be a list of strings, got 'wxyz'"),
        ({"index": pd.DatetimeIndex(["2024-01-02", "NaT", "2024-01-04", "2024-01-05"])}, "index, row 2: the label of"),
        ({"options": None}, "options must be a list of strings, got None"),
        ({"options": "abc"}, "options must be a list of strings, got 'abc'"),
        ({"notes": None}, "notes must be a list of strings, got None"),
        ({"notes": "hello"}, "notes must be a list of strings, got 'hello'"),
        ({"unit": "points"}, 'unit must be "fraction"'),
        ({"unit": np.array(["percent", "percent"])}, 'unit must be "fraction"'),
        (
            {"values": np.ma.masked_array(VALUES, mask=np.eye(4, 3))},
            "returns: some entries are masked, that is missing",
        ),
        ({"values": np.array(VALUES) > 1}, "returns must be numeric"),
    ],
)
def test_refusals(changes: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        _returns(**changes)


def test_dates_label_it_as_they_do_in_the_readers() -> None:
    days = pd.date_range("2024-01-02", periods=4)
    labels = ("2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05")
    assert _returns(index=days).index == labels
    frame = pd.DataFrame(np.array(VALUES)[:, :2], columns=["a", "b"], index=days)
    assert cb.data.read_returns(frame, kind="returns", unit="percent").index == labels


def test_packaged_market_data() -> None:
    stocks = cb.data.read_packaged("skfolio/sp500", unit="percent")
    assert stocks.values.shape == (8312, 20)
    assert stocks.source == "skfolio/sp500"
    assert stocks.unit == "percent"
    assert 0 < stocks.mean.min() < stocks.mean.max() < 0.3  # per day
    factors = cb.data.read_packaged("skfolio/factors", options=["QUAL", "MTUM"])
    assert factors.options == ("QUAL", "MTUM")
    assert len(factors) == 2263
    assert cb.data.read_packaged("skfolio/sp500-index").options == ("SP500",)
    with pytest.raises(InvalidInput, match="no packaged data 'skfolio/nasdaq'; there are 'skfolio/sp500'"):
        cb.data.read_packaged("skfolio/nasdaq")
    with pytest.raises(InvalidInput, match=r"no packaged data \['skfolio/sp500'\]; there are 'skfolio/sp500'"):
        cb.data.read_packaged(["skfolio/sp500"])  # type: ignore[arg-type]


def test_packaged_agrees_with_the_package_and_does_not_import_it() -> None:
    code = (
        "import sys, numpy as np, covbandit as cb\n"
        "cb.data.packaged()\n"
        "mine = cb.data.read_packaged('skfolio/factors')\n"
        "assert not {'skfolio', 'pandas', 'sklearn'} & set(sys.modules)\n"
        "from skfolio.datasets import load_factors_dataset\n"
        "theirs = load_factors_dataset().pct_change().dropna()\n"
        "assert list(theirs.columns) == list(mine.options)\n"
        "np.testing.assert_allclose(mine.values, theirs.to_numpy(), rtol=1e-9, atol=1e-12)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_packaged_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(datasets, "find_spec", lambda name: None)
    assert cb.data.packaged().to_dict()["installed"] == ["no", "no", "no"]
    with pytest.raises(MissingExtra, match=r"pip install 'covbandit\[market\]'"):
        cb.data.read_packaged("skfolio/sp500")

    class Elsewhere:
        submodule_search_locations = (str(tmp_path),)

    monkeypatch.setattr(datasets, "find_spec", lambda name: Elsewhere)
    with pytest.raises(InvalidInput, match=r"the installed skfolio does not hold sp500_dataset.csv.gz"):
        cb.data.read_packaged("skfolio/sp500")
