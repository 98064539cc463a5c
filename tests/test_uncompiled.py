"""Kernels run as plain Python where COVBANDIT_UNCOMPILED is set: for debuggers, and to measure coverage."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import json
import covbandit as cb
from covbandit.kernels.jit.compilation import UNCOMPILED

learners = {
    "MC-Empirical": cb.MCEmpirical(n_options=3, risk_aversion=2.0),
    "PairUCB": cb.PairUCB(n_options=3, risk_aversion=2.0, min_weight=None),
    "GradientTS": cb.GradientTS(n_options=3, risk_aversion=2.0, seed=1),
    "MC-ETE": cb.MCETE(n_options=3, risk_aversion=2.0),
}
result = cb.simulate(cb.problems.random(3, "factor", 5, risk_aversion=2.0), learners, 60, 1, seed=3, workers=1)
print(json.dumps([UNCOMPILED, result.regret[:, 0, -1].tolist()]))
"""


def _run(uncompiled: str) -> tuple[bool, list[float]]:
    environment = {**os.environ, "COVBANDIT_UNCOMPILED": uncompiled, "COVBANDIT_QUIET": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, timeout=300, check=True
    )
    flag, regret = json.loads(done.stdout)
    return flag, regret


def test_uncompiled_kernels_decide_as_compiled_ones() -> None:
    plain, compiled = _run("1"), _run("0")
    assert plain[0]
    assert not compiled[0]
    assert plain[1] == pytest.approx(compiled[1], rel=1e-9)
