"""The state that learners declare: where things lie, what is saved, what kernels and Python see."""

from __future__ import annotations

import ast
import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core.errors import TypingError

import covbandit as cb
from covbandit.kernels.jit import compilation
from covbandit.kernels.jit.compilation import compiled, kernel
from covbandit.learners.protocol.state import (
    UPDATE,
    LearnerState,
    block,
    counter,
    matrix,
    number,
    parameter,
    parameters,
    row,
    work_block,
    work_integers,
    work_matrices,
    work_matrix,
    work_row,
    work_rows,
)


class Everything(LearnerState):
    """A field of each kind."""

    ready = number("a number")
    mean = row("a row")
    scatter = matrix("a matrix")
    moments = block("d + 1 matrices", lambda d: d + 1)
    log = block("as many as the arguments say")
    turns = counter("a counter")
    rho = parameter("a parameter")
    scale = parameter("another")
    gamma = parameters("the rest", square=True)
    delta = work_row("room")
    rows = work_rows("more room", 3)
    inverse = work_matrix("room")
    stack = work_matrices("more room", 2)
    spare = work_block("room", lambda d: 2)
    integers = work_integers("room", 2)


class More(Everything):
    """One that derives from another."""

    centre = row("another row")


def make(kind: type[Everything] = Everything, d: int = 3) -> Any:
    given = {"scale": 2.0, "gamma": np.arange(d * d).reshape(d, d), "rho": 0.5}  # in any order
    return kind(kind.allocate(d, given, {"log": 2}))


@kernel(UPDATE)
def fill(state: Any) -> None:
    """Write to every field, each time something else."""
    s = Everything(state)
    d = s.count.size
    s.ready = 1.5
    s.turns += 7
    s.told = 4
    for i in range(d):
        s.mean[i] = 10.0 + i
        s.delta[i] = 20.0 + i
        for j in range(d):
            s.scatter[i, j] = 30.0 + d * i + j
            s.inverse[i, j] = s.gamma[i, j] * s.scale + s.rho
            for k in range(2):
                s.stack[k, i, j] = 100.0 * (k + 1) + d * i + j
        for k in range(3):
            s.rows[k, i] = 50.0 + 10 * k + i
    for k in range(s.moments.size):
        s.moments[k] = 1000.0 + k
    for k in range(s.log.size):
        s.log[k] = 2000.0 + k
    for k in range(s.spare.size):
        s.spare[k] = 3000.0 + k
    for k in range(s.integers.size):
        s.integers[k] = 60 + k


@pytest.mark.parametrize("kind", [Everything, More])
@pytest.mark.parametrize("d", [1, 3, 7])
def test_kernels_and_python_see_the_same_and_no_two_fields_overlap(kind: type[Everything], d: int) -> None:
    """A derived class changes no place, so kernels of its base work on it as well."""
    s = make(kind, d)
    compiled(fill)(s.arrays)
    square = np.arange(d * d).reshape(d, d)
    assert (s.ready, s.turns, s.told, s.rho, s.scale) == (1.5, 7, 4, 0.5, 2.0)
    assert s.mean.tolist() == [10.0 + i for i in range(d)]
    assert s.delta.tolist() == [20.0 + i for i in range(d)]
    assert np.array_equal(s.scatter, 30.0 + square)
    assert np.array_equal(s.inverse, square * 2.0 + 0.5)
    assert np.array_equal(s.stack, np.array([100.0, 200.0])[:, None, None] + square)
    assert np.array_equal(s.rows, np.array([50.0, 60.0, 70.0])[:, None] + np.arange(d))
    assert np.array_equal(s.moments, 1000.0 + np.arange((d + 1) * d * d))
    assert np.array_equal(s.log, 2000.0 + np.arange(2 * d * d))
    assert np.array_equal(s.spare, 3000.0 + np.arange(2 * d * d))
    assert s.integers.tolist() == [60 + k for k in range(2 * d)]
    assert not s.count.any()
    assert not s.start_weights.any()
    assert not getattr(s, "centre", np.zeros(d)).any()


def test_python_writes_what_kernels_read() -> None:
    s = make()
    s.mean = [1.0, 2.0, 3.0]
    s.mean += 1.0
    s.ready = 2.5
    s.turns = 9
    s.scatter = 0.25
    assert s.arrays.rows[Everything.places["mean"].place].tolist() == [2.0, 3.0, 4.0]
    assert s.arrays.rows[Everything.places["ready"].place, 0] == 2.5
    assert s.arrays.counters[Everything.places["turns"].place] == 9
    assert (s.arrays.matrices[Everything.places["scatter"].place] == 0.25).all()


def test_what_is_saved_is_named_in_the_order_of_files() -> None:
    """Books, rows, matrices, blocks: stores keep states as bytes in this order."""
    s = make()
    names = ["count", "active", "last", "ready", "mean", "scatter", "moments", "log"]
    assert list(s.saved()) == names
    assert list(Everything.saved_shapes(3, {"log": 2})) == names
    assert {name: array.shape for name, array in s.saved().items()} == Everything.saved_shapes(3, {"log": 2})
    s.saved()["moments"][0, 0, 1] = 5.0
    assert s.moments[1] == 5.0


def test_a_parameter_that_is_not_declared_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"declares the parameters \['rho', 'scale', 'gamma'\], got \['rho'\]"):
        Everything.allocate(3, {"rho": 0.5}, {"log": 1})
    with pytest.raises(TypeError, match="rate"):
        Everything.allocate(3, {"rho": 0.5, "scale": 1.0, "gamma": np.eye(3), "rate": 2.0}, {"log": 1})


def test_parameters_are_given_by_name() -> None:
    """In order, a wrong order would give wrong numbers, and too few would let kernels read beyond them."""
    for given in ((0.5, 1.0), np.ones(11), 0.5):
        with pytest.raises(TypeError, match=r"declares the parameters \['rho', .*\], to be given by name, got "):
            Everything.allocate(3, given, {"log": 1})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"declares the parameters \['rho', 'scale', 'gamma'\], got \[\]"):
        Everything.allocate(3, block_sizes={"log": 1})


def test_a_name_that_is_not_declared_is_an_error() -> None:
    # On demand: else simulations of later tests in this process would compile them ahead, and fail.
    @kernel(UPDATE, on_demand=True)
    def wrong(state: Any) -> None:
        s = Everything(state)
        s.maen[0] = 1.0  # type: ignore[attr-defined]

    @kernel(UPDATE, on_demand=True)
    def assigned(state: Any) -> None:
        s = Everything(state)
        s.raedy = 1.0  # type: ignore[attr-defined]

    @kernel(UPDATE, on_demand=True)
    def changed(state: Any) -> None:
        s = Everything(state)
        s.rho = 0.7  # type: ignore[misc]

    with pytest.raises(NotImplementedError, match="rho is a parameter, which never changes"):
        compiled(changed)
    with pytest.raises(TypingError, match="maen"):
        compiled(wrong)
    with pytest.raises(TypingError, match="raedy"):
        compiled(assigned)
    with pytest.raises(AttributeError, match="maen"):
        make().maen  # noqa: B018
    for kind in (Everything, More):
        s = make(kind)
        for name, value in (("maen", [1.0, 2.0, 3.0]), ("raedy", 1.0), ("rho", 0.7), ("integers", 1)):
            with pytest.raises(AttributeError, match=f"declares no '{name}' that can be assigned to"):
                setattr(s, name, value)
        assert s.rho == 0.5


@pytest.mark.parametrize("wanted", [True, False])
def test_no_garbage_is_looked_for_while_a_kernel_is_compiled(
    wanted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Afterwards it is again, unless it was not before."""

    @kernel(UPDATE, on_demand=True)
    def count(state: Any) -> None:
        s = LearnerState(state)
        s.told += 1

    seen: list[bool] = []
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compilation, "_give_notice", lambda _: seen.append(gc.isenabled()))
    if not wanted:
        gc.disable()
    try:
        compiled(count)
        assert (seen, gc.isenabled()) == ([False], wanted)
    finally:
        gc.enable()


def test_a_changed_declaration_changes_the_compiled_code() -> None:
    """Else a kernel in the cache would read what stood in a place before."""

    def declared(*names: str) -> Any:
        return type("Declared", (LearnerState,), {name: row(name) for name in names})

    def version(declaration: Any) -> str:
        @kernel(UPDATE)
        def write(state: Any) -> None:
            s = declaration(state)
            s.mean[0] = 1.0

        return compilation._hash(write)

    assert version(declared("mean", "scale")) == version(declared("mean", "scale"))
    assert version(declared("mean", "scale")) != version(declared("scale", "mean"))


COUNTING = """
import numba
import numpy as np
from covbandit.learners.protocol.state import LearnerState

@numba.njit  # which counts references, as kernels do not
def feed(state, rewards):
    s = LearnerState(state)
    for k in range(len(rewards)):
        state.rows[0, 0] += rewards[k]
        s.told += 1

for _ in range(3):
    state = LearnerState.allocate(3)
    feed(state, np.ones(10))
    assert LearnerState(state).told == 10
"""


def test_a_view_frees_no_memory_that_others_hold() -> None:
    """Code of somebody else's may open a view; a reference too few ended the process."""
    done = subprocess.run([sys.executable, "-c", COUNTING], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_two_fields_of_any_length_do_not_fit() -> None:
    with pytest.raises(TypeError, match="one is all that fits"):
        type("TooMany", (LearnerState,), {"a": parameters("one"), "b": parameters("two")})


def test_every_field_says_what_it_holds() -> None:
    found = [LearnerState]
    for kind in found:
        found += kind.__subclasses__()
        if kind.__module__.startswith("covbandit."):
            for name, field in kind.fields.items():
                assert field.__doc__, (kind, name)
    assert len(found) > 10


def test_no_learner_file_imports_a_number_of_the_state() -> None:
    """Fields are named; a constant in capitals that learner files share is a code or a signature, never a place."""
    room = Path(cb.__file__).parent / "learners"
    allowed = {
        *("ABSORB", "DECIDE", "UPDATE", "STATE_TYPE"),  # signatures and their type
        *("COMPLETED_A_ROUND", "EXACT", "EXPLOITED", "PROJECT"),  # what an action was; what to do with a matrix
        "STANDARD_ERROR",  # words of explanations
        *("F64", "I64"),
        *("MCETE", "MCUCB", "OGD", "OGDETE", "OLSUCBC"),
    }
    found = set()
    for file in room.rglob("*.py"):
        if file == room / "state.py":  # deprecated, for learners of 0.1
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("covbandit.learners"):
                found |= {alias.name for alias in node.names if alias.name.isupper()}
    assert found <= allowed


# Learners of 0.1 ------------------------------------------------------------------------------------------------------

OLD_LEARNER = """
import warnings
import numpy as np
import covbandit as cb

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    from covbandit.kernels.compilation import kernel
    from covbandit.learners.state import ABSORB, CAP, COUNT, DECIDE, FIRST_ROW, Layout
assert [each.category for each in said if "deprecated" in str(each.message)] == [DeprecationWarning] * 2, said

MEAN, SCATTER = FIRST_ROW, FIRST_ROW + 1

@kernel(DECIDE)
def decide(s, t, w):
    total = 0.0
    for i in range(w.size):
        w[i] = 1.0 if s.v[COUNT, i] < 2.0 else s.p[0] / max(s.v[SCATTER, i], 1e-300)
        w[i] *= s.v[CAP, i] + 0.0 * s.m[0, 0, 0] + 0.0 * s.i[0]
        total += w[i]
    for i in range(w.size):
        w[i] /= total

@kernel(ABSORB)
def absorb(s, w, y):
    for i in range(w.size):
        s.v[COUNT, i] += 1.0
        delta = y[i] - s.v[MEAN, i]
        s.v[MEAN, i] += delta / s.v[COUNT, i]
        s.v[SCATTER, i] += delta * (y[i] - s.v[MEAN, i])

class Old(cb.Learner):
    feedback = "all"
    _layout = Layout(rows=("mean", "scatter"), slabs=("products",))
    _decide_kernel = decide
    _absorb_kernel = absorb

    def _parameters(self):
        return (1.0,)

learner = Old(n_options=3)
rng = np.random.default_rng(1)
for _ in range(20):
    learner.tell(learner.ask(), rng.standard_normal(3) * [1, 2, 3])
learner.save("old.json")
again = cb.load_learner("old.json")
assert np.array_equal(learner.ask(), again.ask())
assert learner._state.v.shape == (8, 3)
assert set(learner._layout.named(learner._state)) == {"count", "active", "last", "mean", "scatter", "products"}
learner.set_retired([0])
assert learner.ask()[0] == 0.0
cb.simulate(cb.problems.synthetic(), Old(n_options=5), horizon=50, replications=1)
print(*learner._view.row_scatter.tolist())
"""


def test_a_compiled_learner_of_0_1_still_runs(tmp_path: Path) -> None:
    """With the imports that the documentation of 0.1 taught; they say that they are deprecated."""
    file = tmp_path / "old_learner.py"
    file.write_text(OLD_LEARNER, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(file)], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    rewards = np.random.default_rng(1).standard_normal((20, 3)) * [1, 2, 3]
    scatter = rewards.var(axis=0) * 20
    assert [float(word) for word in done.stdout.split()] == pytest.approx(scatter.tolist(), rel=1e-12)
