"""What a simulation gave: regret and weights at checkpoints, with everything needed to repeat it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from covbandit.core.archives import UNREADABLE, Archive
from covbandit.core.files import replacing
from covbandit.core.size_limits import as_limited, as_n_options, as_rounds
from covbandit.core.tables import Table, data_frame
from covbandit.core.typing import F64, I64
from covbandit.errors import InvalidInput, StateFileError
from covbandit.simulation.engine import Replication
from covbandit.simulation.plan import difference
from covbandit.simulation.statistics import Interval, log_slope, paired_ratio, visible_width

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


FORMAT = "covbandit-simulation"
VERSION = 1


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """Regret and weights of every learner, replication and checkpoint.

    Attributes
    ----------
    regret : ndarray [learner, replication, checkpoint]
        Cumulative pseudo-regret, computed with the true parameters.
    weights : ndarray [learner, replication, checkpoint, option]
        What was played in the checkpoint's round.
    replications : ndarray
        Which replications these are.
    specification : dict
        Problem, learners, environment, horizon, seed and checkpoints as plain data.
    versions : dict
        Software versions on which the last bits may depend.
    """

    regret: F64
    weights: F64
    replications: I64
    specification: dict[str, Any]
    versions: dict[str, str]

    @property
    def learners(self) -> list[str]:
        """The learners' names, in the order of the first axis."""
        return list(self.specification["learners"])

    @property
    def checkpoints(self) -> I64:
        """The rounds recorded; the last is the horizon."""
        return np.array(self.specification["checkpoints"], dtype=np.int64)

    @property
    def horizon(self) -> int:
        """The number of rounds T."""
        return int(self.specification["horizon"])

    def __repr__(self) -> str:
        return (
            f"SimulationResult({', '.join(self.learners)}; T = {self.horizon:,}, {len(self.replications)} replications)"
        )

    def at(self, learner: str, checkpoint: int | None = None) -> F64:
        """Return one learner's regret in every replication, at a checkpoint (by default the horizon)."""
        if learner not in self.learners:
            raise InvalidInput(f"no learner {learner!r}; there are {', '.join(map(repr, self.learners))}")
        return self.regret[self.learners.index(learner), :, self._position(checkpoint)]

    def _position(self, checkpoint: int | None) -> int:
        rounds = self.checkpoints
        at = int(np.searchsorted(rounds, self.horizon if checkpoint is None else checkpoint))
        if checkpoint is not None and (at == len(rounds) or rounds[at] != checkpoint):
            near = rounds[min(at, len(rounds) - 1)]
            raise InvalidInput(f"round {checkpoint} is not a checkpoint; the next one is {near}")
        return at

    def decades(self) -> list[tuple[int, int]]:
        """Return the pairs of checkpoints (T/10, T), (T/100, T/10), ..., latest first, as far as they were recorded."""
        rounds = set(self.checkpoints.tolist())
        late, pairs = self.horizon, []
        while late >= 20 and late // 10 in rounds:
            pairs.append((late // 10, late))
            late //= 10
        return pairs

    def slope(self, learner: str, early: int, late: int) -> Interval:
        """Return the log-log slope of mean regret between two checkpoints, with its 95 % interval."""
        return log_slope(self.at(learner, late), self.at(learner, early), float(np.log10(late / early)))

    def ratio(self, learner: str, to: str, checkpoint: int | None = None) -> Interval:
        """Return how many times the regret of `to` one learner pays, with its 95 % interval, paired by replication."""
        return paired_ratio(self.at(learner, checkpoint), self.at(to, checkpoint))

    def summary(self, checkpoint: int | None = None) -> Table:
        """Return regret per learner: mean, 95 % interval, range, and growth in the last decade."""
        position = self._position(checkpoint)
        here = int(self.checkpoints[position])
        before = here // 10 if here // 10 in set(self.checkpoints.tolist()) and here >= 20 else None
        rows = []
        for name in self.learners:
            values = self.at(name, here)
            slope = self.slope(name, before, here).estimate if before is not None else float("nan")
            rows.append(
                [
                    name,
                    float(values.mean()),
                    visible_width(values),
                    float(values.min()),
                    float(values.max()),
                    round(slope, 3),
                ]
            )
        return Table(
            ["learner", "mean regret", "± 95 %", "min", "max", "log-log slope"],
            rows,
            f"Regret after {here:,} rounds, {len(self.replications)} replications",
        )

    def slopes(self) -> Table:
        """Return the log-log slope of mean regret in each decade, with 95 % intervals."""
        pairs = self.decades()[::-1]
        rows = [[name, *(str(self.slope(name, a, b)) for a, b in pairs)] for name in self.learners]
        return Table(["learner", *(f"{a:,} to {b:,}" for a, b in pairs)], rows, "Log-log slope of mean regret")

    def ratios(self, to: str, checkpoint: int | None = None) -> Table:
        """Return every learner's regret relative to one of them, with paired 95 % intervals."""
        rows = []
        for name in self.learners:
            interval = self.ratio(name, to, checkpoint)
            rows.append([name, interval.estimate, interval.low, interval.high])
        return Table(["learner", f"times {to}", "low", "high"], rows)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per learner, replication and checkpoint, as a pandas DataFrame."""
        return data_frame(self._columns())

    def _columns(self) -> dict[str, Any]:
        n_learners, n_replications, n_rounds = self.regret.shape
        return {
            "learner": np.repeat(self.learners, n_replications * n_rounds),
            "replication": np.tile(np.repeat(self.replications, n_rounds), n_learners),
            "round": np.tile(self.checkpoints, n_learners * n_replications),
            "regret": self.regret.ravel(),
        }

    def to_latex(self, checkpoint: int | None = None) -> str:
        """Return the summary as a LaTeX tabular."""
        return self.summary(checkpoint).to_latex()

    def plot(self, ax: Axes | None = None, bounds: bool = False) -> Axes:
        """Draw mean regret with 95 % bands on log-log axes; return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.
        bounds : bool
            Whether to add, dotted, the paper's upper bound for each kind of feedback that a learner here has. The paper
            leaves their constants open; they are drawn with constant 1, and labelled so: compare slopes, not heights.
        """
        from covbandit.simulation.plotting import plot_bounds, plot_regret

        ax = plot_regret(self, ax)
        if bounds:
            plot_bounds(self, ax)
        return ax

    def split(self) -> list[Replication]:
        """Return the replications one by one."""
        return [
            Replication(int(index), self.regret[:, k], self.weights[:, k]) for k, index in enumerate(self.replications)
        ]

    def select(self, replications: Sequence[int]) -> SimulationResult:
        """Return some of the replications, in the order given."""
        known = self.replications.tolist()
        lost = [r for r in replications if r not in known]
        if lost:
            raise InvalidInput(f"there is no replication {lost[0]}; there are {len(known)}")
        at = [known.index(r) for r in replications]
        return replace(self, regret=self.regret[:, at], weights=self.weights[:, at], replications=self.replications[at])

    def require_same(self, specification: dict[str, Any], versions: dict[str, str]) -> None:
        """Raise, naming what differs, unless another simulation has the same specification and the same software."""
        differs = difference(self.specification, specification)
        if differs:
            raise InvalidInput(f"these replications belong to another simulation: {differs}")
        changed = difference(self.versions, versions)
        if changed:
            raise InvalidInput(
                f"these replications were computed by other software, whose last bits may differ: {changed}"
            )

    def merge(self, other: SimulationResult) -> SimulationResult:
        """Return the replications of two runs of the same simulation together; none may be in both."""
        self.require_same(other.specification, other.versions)
        twice = np.intersect1d(self.replications, other.replications)
        if twice.size:
            raise InvalidInput(f"replication {twice[0]} is in both results: they would count twice")
        order = np.argsort(np.concatenate([self.replications, other.replications]), kind="stable")
        return type(self)(
            np.concatenate([self.regret, other.regret], axis=1)[:, order],
            np.concatenate([self.weights, other.weights], axis=1)[:, order],
            np.concatenate([self.replications, other.replications])[order],
            self.specification,
            self.versions,
        )

    def save(self, path: str | Path) -> None:
        """Write everything to one ``.npz`` file, all of it or nothing."""
        header = {
            "format": FORMAT,
            "version": VERSION,
            "specification": self.specification,
            "versions": self.versions,
        }
        with replacing(path) as file:
            np.savez_compressed(
                file,
                header=np.array(json.dumps(header)),
                regret=self.regret,
                weights=self.weights,
                replications=self.replications,
            )

    @classmethod
    def load(cls, path: str | Path) -> SimulationResult:
        """Read a file written by `save`; a replay's comes back as a `ReplayResult`."""
        try:
            with Path(path).open("rb") as file, Archive(file) as stored:
                return _loaded(stored, str(path))
        except StateFileError as error:
            raise StateFileError(str(error) if str(path) in str(error) else f"{path} is damaged: {error}") from None
        except FileNotFoundError:
            raise StateFileError(f"cannot read {path}: no such file") from None
        except UNREADABLE as error:
            cause = str(error)[:200] or type(error).__name__
            raise StateFileError(f"{path} is truncated or not a simulation result: {cause}") from None


def result_class(specification: dict[str, Any]) -> type[SimulationResult]:
    """Return the class of the results of a specification: a replay has one of its own."""
    from covbandit.simulation.replay_result import ReplayResult  # which derives from the class above

    return ReplayResult if "replayed" in specification["environment"] else SimulationResult


def _loaded(stored: Archive, path: str) -> SimulationResult:
    """Return a result, of whose arrays nothing is read before their shapes are known to be right."""
    if "header" not in stored:
        raise StateFileError(f"{path} is not a simulation result: it lacks a header")
    header = json.loads(stored.text("header"))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise StateFileError(f"{path} is not a simulation result of covbandit")
    version = header.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= VERSION:
        raise StateFileError(
            f"{path} has format version {version!r}; this covbandit reads up to {VERSION}: upgrade covbandit"
        )
    specification, versions = header["specification"], header["versions"]
    learners, rounds = _outline(specification)
    (n,) = stored.shape("replications")
    if not isinstance(versions, dict):
        raise StateFileError("it does not say which versions it was computed by")
    replications = stored.integers("replications", (n,))
    if len(np.unique(replications)) < n or (replications < 0).any():
        raise StateFileError("its replications are not numbered 0, 1, 2, ..., each once")
    options = _n_options(specification, stored.shape("weights"))
    regret = stored.floats("regret", (learners, n, rounds))
    weights = stored.floats("weights", (learners, n, rounds, options))
    return result_class(specification)(regret, weights, replications, specification, versions)


def _outline(specification: dict[str, Any]) -> tuple[int, int]:
    """Return how many learners and checkpoints a specification has, if they are as a simulation makes them."""
    learners, checkpoints = specification["learners"], specification["checkpoints"]
    if not isinstance(learners, dict) or not learners:
        raise StateFileError("it has no learners")
    horizon = as_rounds(specification["horizon"])
    rounds = [as_limited(t, "checkpoint", 1, horizon) for t in checkpoints]
    if not rounds or any(a >= b for a, b in pairwise(rounds)) or rounds[-1] != horizon:
        raise StateFileError("its checkpoints do not rise to the horizon")
    return len(learners), len(rounds)


def _n_options(specification: dict[str, Any], shape: tuple[int, ...]) -> int:
    """Return d: as the problem says or, where problems are drawn, as the weights say."""
    mean = specification["problem"].get("mean")
    return len(mean) if isinstance(mean, list) else as_n_options(shape[-1], 1)
