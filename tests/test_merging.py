"""Results of one simulation that come from different software are not mixed without a word."""

from __future__ import annotations

from dataclasses import replace

import pytest

import covbandit as cb
from covbandit.errors import InvalidInput


@pytest.mark.parametrize("name", ["numpy", "sources", "covbandit"])
def test_results_of_other_software_are_not_merged_nor_continued(name: str) -> None:
    """The last bits may depend on the versions, so the one that differs is named."""
    problem, learner = cb.problems.synthetic(), cb.LinearFI(n_options=5)
    whole = cb.simulate(problem, learner, 50, 4)
    mine, theirs = whole.select([0, 1]), whole.select([2, 3])
    assert (mine.merge(theirs).regret == whole.regret).all()
    other = replace(theirs, versions=theirs.versions | {name: "another"})
    with pytest.raises(InvalidInput, match=rf"computed by other software.*{name} differs \(.*another"):
        mine.merge(other)
    with pytest.raises(InvalidInput, match=f"computed by other software.*{name} differs"):
        cb.simulate(problem, learner, 50, 4, resume=other)
