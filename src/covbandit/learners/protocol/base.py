"""The learner protocol: what all learners share, so that an algorithm is two kernels and a docstring."""

from __future__ import annotations

import inspect
import warnings
from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from covbandit.core import validation
from covbandit.core.fingerprints import remember
from covbandit.core.typing import F64, Feedback
from covbandit.errors import AssumptionWarning, InvalidInput, Unsupported
from covbandit.kernels.jit.compilation import compiled
from covbandit.learners.protocol import serialization
from covbandit.learners.protocol.explanation import Estimates, Explanation, explain
from covbandit.learners.protocol.observations import check_observation, check_partial, check_rounds
from covbandit.learners.protocol.retired_options import as_in_use, confine, confine_in_place, level
from covbandit.learners.protocol.setup_warnings import said_before, say
from covbandit.learners.protocol.state import LearnerState, State
from covbandit.problems.problem import Problem

_DOUBT_EVERY = 16  # rounds between looks for contradicted assumptions

Hold = tuple[ArrayLike, int]


class Learner(ABC):
    r"""Base of all learners: proposes weights (`ask`) and learns from what they earned (`tell`).

    A subclass states its `feedback` and either declares a state and names two compiled kernels (`_state_class`,
    `_decide_kernel`, `_absorb_kernel`) or, slower but in plain Python, overrides `_initialize`, `_decide` and `_absorb`
    and keeps what it learns in the dictionary ``self.statistics`` (numbers, strings, lists and arrays). Either way it
    runs in `simulate`, saves and loads. It may override `_estimates` to return the `Estimates` that it believes in;
    without that, `explain` shows weights and counts alone.

    Each constructor argument must be kept as an attribute of the same name: that is how learners are cloned and saved.

    Options may go out of use, and come back: `set_retired` says which are out. They get no weight then, while what is
    known of them stays. What a learner outside this package decides, in plain Python or by a kernel, is confined to the
    options in use, in the same proportions.
    Where every reward is seen, `tell_partly` takes rounds in which some options did not exist or were not in use; a
    plain-Python learner that should learn from such rounds overrides `_absorb_partly`.

    Parameters
    ----------
    n_options : int
        d.
    options : sequence of str, optional
        Names, used in every message.
    seed : int, optional
        For randomised learners; the others ignore it.
    hold : (weights, rounds), optional
        Play these weights in the first rounds, and learn from them: a status quo that must not be left at once.

    Attributes
    ----------
    feedback : {"all", "chosen", "total"}
        What must be told: every option's reward, the chosen options' rewards, or one total.
    retired : tuple
        The options out of use, by name if they have names, else by index.
    invariances : frozenset of str
        ``"scale"``: rewards times s with ρ/s give the same weights; ``"permutation"``: reordered options give reordered
        weights. Checked by `covbandit.testing`.
    """

    feedback: ClassVar[Feedback]
    invariances: ClassVar[frozenset[str]] = frozenset()
    risk_aversion: float | None = None
    max_weight: F64 | None = None
    min_weight: float | None = None

    _state_class: type[LearnerState] = LearnerState
    _decide_kernel: ClassVar[Callable[..., None] | None] = None
    _absorb_kernel: ClassVar[Callable[..., None] | None] = None

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "_layout" in vars(cls):  # deprecated: a learner written for covbandit 0.1; until 0.3
            cls._state_class = vars(cls)["_layout"].state_class
        remember(cls.__module__)

    def __init__(
        self,
        *,
        n_options: int,
        options: Sequence[str] | None = None,
        seed: int | None = None,
        hold: Hold | None = None,
    ) -> None:
        self.n_options = validation.as_count(n_options, "n_options", 1)
        self.options = validation.as_options(options, self.n_options)
        self.seed = None if seed is None else validation.as_count(seed, "seed")
        self.hold: tuple[F64, int] | None = None
        if hold is not None:
            try:
                weights, rounds = hold
            except (TypeError, ValueError):
                raise InvalidInput(f"hold must be a pair (weights, rounds), got {hold!r}") from None
            self.hold = (
                validation.as_weights(weights, self.n_options, self.options, "held weight"),
                validation.as_count(rounds, "rounds to hold"),
            )
        self.statistics: dict[str, Any] = {}
        if "_layout" in vars(self):  # deprecated, as above
            self._state_class = vars(self)["_layout"].state_class
        self._state: State  # what kernels are called with
        self._view: LearnerState  # the same memory, with names
        self.reset()
        for remark in self._remarks():
            say(remark)

    # What a subclass writes ------------------------------------------------------------------------------------------

    def _parameters(self) -> Mapping[str, ArrayLike]:
        """Return the parameters that `_state_class` declares, by name."""
        return {}

    @classmethod
    def _block_sizes(cls, d: int, arguments: Mapping[str, Any]) -> dict[str, int]:
        """Return how many d × d matrices each block takes whose size depends on the constructor's arguments."""
        return {}

    def _initialize(self) -> None:  # noqa: B027 (optional: compiled learners have nothing to set up)
        """Set up ``self.statistics`` (plain-Python learners)."""

    def _decide(self, t: int) -> ArrayLike:
        """Return the weights for round t (plain-Python learners). Must depend on statistics, parameters and t alone."""
        raise Unsupported(f"{type(self).__name__} defines neither kernels nor _decide")

    def _absorb(self, weights: F64, observation: F64) -> None:
        """Update ``self.statistics`` (plain-Python learners)."""
        raise Unsupported(f"{type(self).__name__} defines neither kernels nor _absorb")

    def _absorb_partly(self, weights: F64, rewards: F64) -> None:
        """Learn from a round with NaN in place of rewards that do not exist (feedback "all" only)."""
        raise Unsupported(
            f"{type(self).__name__} cannot learn from rounds in which rewards are missing; use another learner, or "
            "override _absorb_partly"
        )

    def _check_in_use(self, in_use: F64) -> None:  # noqa: B027 (optional: most learners can do with any)
        """Raise if the learner cannot do with these options alone; nothing has changed then."""

    def _check_saved(  # noqa: B027 (optional: what a learner in plain Python keeps is its own)
        self, rounds: int, arrays: dict[str, F64], statistics: dict[str, Any]
    ) -> None:
        """Raise if no learner like this can have learned this in `rounds` rounds: kernels check nothing themselves."""

    def _on_retirement(self) -> None:  # noqa: B027 (optional: most learners keep nothing that depends on it)
        """Recompute cached quantities after the set of options in use changed; `_update_books` has already run."""

    def _estimates(self) -> Estimates:
        """Return the moments and widths that `explain` shows; by default nothing is known."""
        return Estimates()

    def _doubt(self) -> str | None:
        """Say which of the learner's assumptions the statistics contradict, or return None."""
        return None

    def _remarks(self) -> tuple[str, ...]:
        """Say what follows from the arguments and may not be meant."""
        return ()

    def _merge(self, other: Self) -> None:
        """Add another learner's statistics to this learner's; `merge` then adds the counts and the rounds told."""
        raise Unsupported(f"{type(self).__name__} cannot be merged: its statistics are not sums over rounds")

    def _random(self, t: int) -> np.random.Generator:
        """Return the generator of round t: keyed by (seed, t), so that asking twice gives the same draws."""
        return np.random.Generator(np.random.Philox(key=[int(self._view.seed), t]))

    # What everybody uses ---------------------------------------------------------------------------------------------

    @property
    def compiled(self) -> bool:
        """Whether the learner has kernels (else it is plain Python)."""
        return self._decide_kernel is not None

    @property
    def rounds_told(self) -> int:
        """The number of rounds told so far."""
        return self._view.told

    @property
    def counts(self) -> F64:
        """How often each option has been observed (with forgetting: the effective number)."""
        return self._view.count.copy()

    @property
    def retired(self) -> tuple[str | int, ...]:
        """The options out of use, by name if they have names, else by index."""
        out = np.flatnonzero(self._view.active == 0).tolist()
        return tuple(out if self.options is None else (self.options[i] for i in out))

    def __repr__(self) -> str:
        arguments = ", ".join(
            f"{name}={value!r}"
            for name, value in self.config().items()
            if value is not None and name not in ("options", "hold")
        )
        return f"{type(self).__name__}({arguments})"

    def ask(self, outstanding: int = 0) -> F64:
        """Propose weights for the next round.

        Pure: asking again gives the same answer, until something is told.

        Parameters
        ----------
        outstanding : int
            Rounds already asked for whose outcome is not yet known. Schedules and random draws advance by as many
            rounds.

        Returns
        -------
        ndarray
            Weights on the decision set.
        """
        t = self.rounds_told + 1 + validation.as_count(outstanding, "outstanding")
        if t <= self._view.hold_rounds:
            return self._view.held_weights.copy()
        weights = np.empty(self.n_options)
        self._decide_into(t, weights)
        return weights

    def tell(self, weights: ArrayLike, observation: ArrayLike) -> None:
        """Learn from one round.

        Parameters
        ----------
        weights : array of d floats
            What was played: non-negative, summing to one within 1e-9. It need not be what was asked.
        observation : array or float
            What was seen, according to `feedback`.

        Raises
        ------
        InvalidInput
            If anything cannot be used; nothing has changed then.
        """
        w = validation.as_weights(weights, self.n_options, self.options)
        self._absorb_checked(w, check_observation(self, w, observation))
        if self.rounds_told % _DOUBT_EVERY == 0:
            self._warn()

    def tell_partly(self, weights: ArrayLike, rewards: ArrayLike) -> None:
        """Learn from one round in which not every option has a reward, where `tell` wants them all.

        For learners that see every option (``feedback = "all"``), when options come and go: a new option has no
        earlier rewards, a retired one no later ones. If no reward is missing, now or before, this is `tell`.

        Parameters
        ----------
        weights : array of d floats
            As in `tell`; zero on options without a reward.
        rewards : array of d floats
            NaN for options that did not exist or were not in use. At least one must be known.

        Raises
        ------
        InvalidInput
            If anything cannot be used; nothing has changed then.
        Unsupported
            If the learner sees less than every option: `tell` suits these, with weight 0 (and, where the chosen are
            seen, NaN) for options that did not exist. Also if it cannot learn from such rounds.

        Examples
        --------
        >>> import covbandit as cb
        >>> learner = cb.LinearFI(n_options=2, options=["SPY", "TLT"])
        >>> for rewards in ([0.1, None], [0.2, None], [0.0, 0.3]):
        ...     learner.tell_partly([1.0, 0.0], rewards)
        >>> learner.ask().tolist()  # one reward says little
        [1.0, 0.0]
        >>> learner.tell_partly([1.0, 0.0], [0.1, 0.5])
        >>> learner.ask().tolist()
        [0.0, 1.0]
        """
        if self.feedback != "all":
            raise Unsupported(
                f"{type(self).__name__} does not see every option, so rewards are never missing: tell weight 0 for "
                "options that did not exist" + (", and NaN" if self.feedback == "chosen" else "")
            )
        w = validation.as_weights(weights, self.n_options, self.options)
        y = check_partial(self, w, rewards)
        self._absorb_checked(w, y, missing=bool(np.isnan(y).any()))
        if self.rounds_told % _DOUBT_EVERY == 0:
            self._warn()

    def set_retired(self, retired: Sequence[str | int]) -> None:
        """Say which options are out of use; all others are in use.

        A retired option gets weight 0 in every decision, at once: in schedules, random draws and held weights too. What
        is known of it stays, so that it can come back, and late outcomes of rounds in which it had weight may still be
        told. `reset` forgets what was told, not this.

        Parameters
        ----------
        retired : sequence of str or int
            Names or indices. They replace those given before; an empty sequence brings all options back.

        Raises
        ------
        InvalidInput
            If an option is not known, or none would be left in use. After any of these errors nothing has changed.
        Infeasible
            If the caps of the options left in use do not allow weights that sum to one.
        NotIdentified
            If the actions of the user's design that contain no retired option do not determine the moments of the
            options left in use.

        Examples
        --------
        >>> import covbandit as cb
        >>> learner = cb.FixedWeights(weights=[0.5, 0.3, 0.2], options=["SPY", "TLT", "GLD"])
        >>> learner.set_retired(["SPY"])
        >>> learner.ask().tolist()
        [0.0, 0.6, 0.4]
        >>> learner.retired
        ('SPY',)
        """
        in_use = as_in_use(retired, self.n_options, self.options, self.max_weight)
        self._check_in_use(in_use)
        if not np.array_equal(in_use, self._view.active):
            self._view.active = in_use
            self._update_books()
            self._on_retirement()

    def tell_many(self, weights: ArrayLike, observations: ArrayLike) -> None:
        """Learn from many rounds, in order: all of them or, if one cannot be used, none.

        Parameters
        ----------
        weights : array, n × d
            What was played in each round.
        observations : array, n × d or n
            What was seen in each round.
        """
        w_all = validation.as_array(weights, "weights", 2)
        try:
            y_all = list(observations)  # type: ignore[arg-type]
        except TypeError:
            raise InvalidInput(f"observations must be a sequence of rounds, got {observations!r}") from None
        if len(w_all) != len(y_all):
            raise InvalidInput(f"{len(w_all)} rows of weights but {len(y_all)} observations")
        before = self._snapshot()
        try:
            for w, y in check_rounds(self, w_all, y_all):
                self._absorb_checked(w, y)
        except BaseException:
            self._restore(before)
            raise
        self._warn()

    def explain(self) -> Explanation:
        """Say why: what each option contributes to the mean and the risk of the weights that `ask` proposes now.

        Pure, like asking. All figures are the learner's own estimates.

        Returns
        -------
        Explanation
            Prints as a table, and turns into a dictionary or a data frame.

        Examples
        --------
        >>> import covbandit as cb
        >>> learner = cb.MCEmpirical(n_options=2, risk_aversion=0.5, options=["SPY", "TLT"])
        >>> learner.tell_many([[0.5, 0.5]] * 3, [[1.0, 0.0], [0.0, 0.75], [0.5, 0.45]])
        >>> learner.explain()
        MCEmpirical, 3 rounds told
        estimated mean 0.4625, variance 0.01995, standard deviation 0.1412
        width: standard error of the mean
        option  weight  mean contribution  risk contribution  count   width
        SPY     0.6254             0.3127            0.03590      3  0.2887
        TLT     0.3746             0.1498           -0.01595      3  0.2179
        """
        return explain(type(self).__name__, self.rounds_told, self.options, self.ask(), self.counts, self._estimates())

    def reset(self) -> None:
        """Forget everything told."""
        active = self._view.active if hasattr(self, "_view") else np.ones(self.n_options)
        block_sizes = self._block_sizes(self.n_options, vars(self))
        self._state = self._state_class.allocate(self.n_options, self._parameters(), block_sizes)
        self._view = self._state_class(self._state)
        self._view.active = active
        self._view.seed = 0 if self.seed is None else self.seed
        self._warned = False
        self.statistics = {}
        self._update_books()
        self._initialize()
        if self.retired:
            self._on_retirement()

    def clone(self) -> Self:
        """Return an independent copy, with everything learned so far."""
        with said_before():
            copy = type(self)(**self.config())
        copy._restore(self._snapshot())
        return copy

    def merge(self, other: Self) -> Self:
        """Add what another learner of the same kind was told, as if it had been told here; return self.

        Only for learners whose statistics are sums over rounds. The other learner is not changed.
        """
        if type(other) is not type(self):
            raise InvalidInput(f"cannot merge {type(other).__name__} into {type(self).__name__}")
        mine, theirs = serialization.to_plain(self.config()), serialization.to_plain(other.config())
        for name in mine:
            if mine[name] != theirs[name]:
                raise InvalidInput(f"cannot merge: {name} is {mine[name]!r} here and {theirs[name]!r} there")
        if self.retired != other.retired:
            raise InvalidInput(f"cannot merge: options {self.retired} are retired here and {other.retired} there")
        self._merge(other)
        self._view.count += other._view.count
        if other.rounds_told:
            self._view.last_weights = other._view.last_weights
        self._view.told += other.rounds_told
        return self

    def mismatch(self, problem: Problem) -> str | None:
        """Say why this learner must not play a problem, or return None if it may."""
        if self.n_options != problem.n_options:
            return f"it has {self.n_options} options, the problem {problem.n_options}"
        if self.retired:
            return (
                f"its options {list(self.retired)} are retired, but a problem is played with all of its options; bring "
                "them back by set_retired([])"
            )
        if self.risk_aversion is not None and self.risk_aversion != problem.risk_aversion:
            return f"its risk_aversion is {self.risk_aversion!r}, the problem's {problem.risk_aversion!r}"
        mine, truth = self.max_weight, problem.max_weight
        if (mine is None) != (truth is None) or not np.array_equal(
            [] if mine is None else mine, [] if truth is None else truth
        ):
            return f"its max_weight is {mine}, the problem's {truth}"
        if self.min_weight != problem.min_weight:
            return f"its min_weight is {self.min_weight}, the problem's {problem.min_weight}"
        if self.hold is not None and self.hold[1] > 0:
            try:
                problem.gap(self.hold[0])
            except InvalidInput as error:
                return f"the weights to hold are not in the problem's decision set ({error})"
        return None

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        names = inspect.signature(type(self).__init__).parameters
        return {name: getattr(self, name) for name in names if name != "self"}

    def save(self, path: str | Path) -> None:
        """Write the learner as versioned text; `load_learner` gives one whose next ask is bit-identical."""
        serialization.write(path, self)

    def __getstate__(self) -> dict[str, Any]:
        return {"config": self.config(), "snapshot": self._snapshot()}

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        with said_before():
            self.__init__(**pickled["config"])  # type: ignore[misc]
        self._restore(pickled["snapshot"])

    # Inside ----------------------------------------------------------------------------------------------------------

    def _warn(self) -> None:
        """Warn, once, if the statistics contradict an assumption."""
        if not self._warned and (doubt := self._doubt()) is not None:
            self._warned = True
            warnings.warn(doubt, AssumptionWarning, stacklevel=3)

    @property
    def _keeps_pairs(self) -> bool:
        """Whether a compiled learner was once told a round with a missing reward, and keeps statistics of pairs since.

        They are in ``self.statistics``, which compiled learners use for nothing else.
        """
        return self.compiled and bool(self.statistics)

    def _kernel(self, name: str) -> Callable[..., None]:
        """Return the class's kernel of this name; overridden where it depends on the learner's arguments."""
        found: Callable[..., None] = getattr(type(self), name)
        return found

    def _kernels(self) -> list[Callable[..., Any]]:
        """Return the kernels that asking and telling call, so that they can be compiled ahead."""
        if self._decide_kernel is None:
            return []
        mine = [self._kernel(name) for name in ("_decide_kernel", "_absorb_kernel") if getattr(self, name) is not None]
        return [*mine, confine_in_place] if self._confined else mine

    def _decide_into(self, t: int, weights: F64) -> None:
        if self._decide_kernel is not None:
            compiled(self._kernel("_decide_kernel"))(self._state, t, weights)
            if self._confined:
                compiled(confine_in_place)(weights, self._view.cap, self._view.start_weights)
                validation.as_weights(weights, self.n_options, self.options, "decided weight")
            return
        answer = validation.as_weights(self._decide(t), self.n_options, self.options, "decided weight")
        weights[:] = confine(answer / answer.sum(), self._view.cap, self._view.start_weights)

    @classmethod
    def _saved_shapes(cls, d: int, config: Mapping[str, Any]) -> dict[str, tuple[int, ...]] | None:
        """Return the shapes of what a learner with these arguments saves, None if they are known only once it is built.

        A learner outside this package may choose its state while it is built.
        """
        ours = cls.__module__.startswith("covbandit.")
        return cls._state_class.saved_shapes(d, cls._block_sizes(d, config)) if ours else None

    def _update_books(self) -> None:
        """Write what follows from the constructor's arguments and from which options are in use."""
        s = self._view
        s.n_in_use = int(s.active.sum())
        self._confined = self._decide_kernel is not None and _is_foreign(self._kernel("_decide_kernel"))
        s.cap = s.active if self.max_weight is None else s.active * self.max_weight
        s.start_weights = level(s.cap, self.min_weight)
        if self.hold is not None:
            s.held_weights = confine(self.hold[0], s.cap, s.start_weights)
            s.hold_rounds = self.hold[1]

    def _tell_seen(self, weights: ArrayLike, observation: F64 | float) -> None:
        """Learn from one round, whatever was seen of it: by `tell_partly` where rewards are missing, else by `tell`."""
        if self.feedback == "all" and np.isnan(observation).any():
            self.tell_partly(weights, observation)
        else:
            self.tell(weights, observation)

    def _absorb_checked(self, weights: F64, observation: F64, missing: bool = False) -> None:
        if self._absorb_kernel is None:
            before = serialization.copy_statistics(self.statistics)
            try:
                if missing:
                    self._absorb_partly(weights, observation)
                else:
                    self._absorb(weights, observation if self.feedback != "total" else observation[0])
            except BaseException:
                self.statistics = before
                raise
            self._view.count += ~np.isnan(observation) if self.feedback == "all" else weights > 0
        elif missing or self._keeps_pairs:
            self._absorb_partly(weights, observation)
        else:
            compiled(self._kernel("_absorb_kernel"))(self._state, weights, observation)
        self._view.last_weights = weights
        self._view.told += 1

    def _snapshot(self) -> tuple[int, dict[str, F64], dict[str, Any]]:
        return (
            self.rounds_told,
            {name: array.copy() for name, array in self._view.saved().items()},
            serialization.copy_statistics(self.statistics),
        )

    def _restore(self, snapshot: tuple[int, dict[str, F64], dict[str, Any]]) -> None:
        told, arrays, statistics = snapshot
        views = self._view.saved()
        mine = {name: view.shape for name, view in views.items()}
        theirs = {name: array.shape for name, array in arrays.items()}
        if mine != theirs:
            raise InvalidInput(f"statistics {theirs} are not those of {type(self).__name__}, {mine}")
        for name, view in views.items():
            view[...] = arrays[name]
        self._view.told = told
        self.statistics = serialization.copy_statistics(statistics)
        self._update_books()


def _is_foreign(kernel: Callable[..., None]) -> bool:
    """Return True if a kernel is not one of this package's, which keep to the options in use by themselves."""
    module: str = kernel.py_func.__module__  # type: ignore[attr-defined]
    return module.partition(".")[0] != __package__.partition(".")[0]
