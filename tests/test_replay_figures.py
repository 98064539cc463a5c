"""Figures of replays, as drawn: labels of periods stand apart, at sensible dates, near both ends."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import covbandit as cb
from covbandit.environments import Replay
from covbandit.specifications import loads


def _month_ends(count: int) -> list[str]:
    months = [divmod(12 * 1990 + 1 + k + 1, 12) for k in range(count)]
    return [(date(year, month + 1, 1) - timedelta(days=1)).isoformat() for year, month in months]


def _working_days(count: int) -> list[str]:
    days = [date(2019, 3, 4) + timedelta(days=k) for k in range(2 * count)]
    return [day.isoformat() for day in days if day.weekday() < 5][:count]


def _quarters_of_an_hour(count: int) -> list[str]:
    begun = datetime(2024, 1, 15, 9, 30)
    times = [begun + timedelta(days=k // 28, minutes=15 * (k % 28)) for k in range(count)]
    return [time.isoformat(sep=" ") for time in times]


LABELS = {
    "months": _month_ends(395),
    "few months": _month_ends(9),
    "days": _working_days(1_200),
    "few days": _working_days(25),
    "times": _quarters_of_an_hour(90),
    "times of one day": _quarters_of_an_hour(20),
    "years": [str(2010 + k) for k in range(8)],
    "quarters": [f"{2001 + k // 4}Q{k % 4 + 1}" for k in range(50)],
    "months as text": [f"{1990 + k // 12}-{k % 12 + 1:02d}" for k in range(200)],
    "days with dots": [f"28.{k % 12 + 1:02d}.{2001 + k // 12}" for k in range(60)],
    "rounds": [str(k + 1) for k in range(300)],
    "names": [f"campaign {k}" for k in range(30)],
    "long names": [f"the very long name of the campaign number {k}" for k in range(30)],
    "two": ["2020-01-31", "2020-02-29"],
}
SPECIFICATION = """
[problem]
file = "history.csv"
kind = "returns"
unit = "percent"
risk_aversion = [{swept}]
[environment]
class = "Replay"
[[learners]]
class = "FixedWeights"
"""


def _history(labels: list[str]) -> cb.data.Returns:
    values = np.random.default_rng(1).normal(0.5, 3.0, (len(labels), 2))
    return cb.data.Returns(values, options=["a", "b"], index=labels)


def _shown(ax: Axes) -> list[Any]:
    return [text for text in ax.get_xticklabels() if text.get_visible() and text.get_text().strip()]


def _assert_legible(figure: Figure) -> None:
    """Draw; fail if two labels below the same axis, or below neighbours, overlap, or those beside and above do."""
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for ax in figure.axes for text in _shown(ax)]
    assert boxes
    beside = [*(ax.yaxis.label for ax in figure.axes), *figure.texts]
    named = [text for text in beside if text.get_text()]
    assert len([text for text in named if "rewards" in text.get_text()]) == 1  # once is enough
    boxes += [text.get_window_extent() for text in named]
    for k, box in enumerate(boxes):
        for other in boxes[:k]:
            assert not box.overlaps(other), f"{box} and {other}"
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width


@pytest.mark.parametrize("labels", list(LABELS.values()), ids=list(LABELS))
def test_labels_of_one_picture_stand_apart(labels: list[str]) -> None:
    history = _history(labels)
    ax = cb.simulate(
        history.problem(0.1), {"equal": cb.FixedWeights(n_options=2)}, environment=Replay(history), workers=1
    ).plot()
    _assert_legible(ax.figure)  # type: ignore[arg-type]
    ticks = ax.get_xticks()
    assert len(ticks) >= min(len(labels), 2)
    if len(labels) > 1:
        assert (len(labels) - ticks[-1]) / (len(labels) - 1) < 0.34, "the last label is far from the end"
    from matplotlib import pyplot

    pyplot.close(ax.figure)  # type: ignore[arg-type]


@pytest.mark.parametrize("panels", [3, 6, 8])
@pytest.mark.parametrize("kind", ["months", "days", "few days", "times", "times of one day", "names", "long names"])
def test_labels_of_small_pictures_stand_apart(kind: str, panels: int, tmp_path: Path) -> None:
    history = _history(LABELS[kind])
    rows = [f"{label},{values[0]},{values[1]}\n" for label, values in zip(history.index, history.values, strict=True)]
    (tmp_path / "history.csv").write_text("period,a,b\n" + "".join(rows), encoding="utf-8")
    text = SPECIFICATION.format(swept=", ".join(str(0.5 * (k + 1)) for k in range(panels)))
    figure = loads(text, "small", tmp_path).run(tmp_path / "results").plot()
    assert len(figure.axes) == panels
    _assert_legible(figure)


def test_ticks_stand_at_sensible_dates_and_follow_the_view() -> None:
    history = _history(LABELS["months"])
    ax = cb.simulate(
        history.problem(0.1), {"equal": cb.FixedWeights(n_options=2)}, environment=Replay(history), workers=1
    ).plot()
    ax.figure.draw_without_rendering()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1995", "2000", "2005", "2010", "2015", "2020"]
    assert [history.index[round(x) - 1] for x in ax.get_xticks()][:2] == ["1995-01-31", "2000-01-31"]
    ax.set_xlim(1, 24)
    _assert_legible(ax.figure)  # type: ignore[arg-type]
    assert {text.get_text()[:5] for text in _shown(ax)} <= {"1990-", "1991-", "1992-"}
    assert ax.format_xdata(12.2) == "1991-01-31", "the cursor names the period"
    from matplotlib import pyplot

    pyplot.close(ax.figure)  # type: ignore[arg-type]
