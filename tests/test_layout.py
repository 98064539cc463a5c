"""Where a learner's statistics lie in the shared state."""

from __future__ import annotations

import numpy as np
import pytest

from covbandit.learners.protocol.state import FIRST_ROW, Layout


def test_blocks_of_slabs_follow_the_slabs_and_are_saved_by_name() -> None:
    layout = Layout(
        rows=("mean",),
        slabs=("scatter",),
        scratch_slabs=2,
        blocks=(("moments", lambda d: d + 1), ("log", lambda d: 2)),
        scratch_blocks=(("work", lambda d: 3 * d),),
    )
    state = layout.allocate(4, np.zeros(0))
    assert state.v.shape == (FIRST_ROW + 1, 4)
    assert state.m.shape == (3 + 5 + 2 + 12, 4, 4)
    assert [layout.first_slab(name, 4) for name in ("moments", "log", "work")] == [3, 8, 10]
    state.m[:] = np.arange(22)[:, None, None]
    views = layout.named(state)
    assert set(views) == {"count", "active", "last", "mean", "scatter", "moments", "log"}
    assert views["scatter"][0, 0] == 2
    assert views["moments"][:, 0, 0].tolist() == [3, 4, 5, 6, 7]
    assert views["log"][:, 0, 0].tolist() == [8, 9]


def test_an_unknown_block_is_not_found() -> None:
    with pytest.raises(KeyError):
        Layout().first_slab("moments", 3)
