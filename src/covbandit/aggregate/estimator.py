"""`AggregateMoments`: what each option is like, from totals of known mixes only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from covbandit.aggregate.estimates import Estimates, estimate
from covbandit.aggregate.sums import Sums, expand, unpack
from covbandit.aggregate.weighting import PASSES, absorb
from covbandit.core import validation
from covbandit.core.archives import UNREADABLE
from covbandit.core.files import read_document, write_document
from covbandit.core.size_limits import MOST_ROUNDS, as_limited, as_n_options
from covbandit.core.tables import Table, as_number, data_frame
from covbandit.core.typing import F64
from covbandit.errors import InvalidInput, NotIdentified, StateFileError
from covbandit.maximization.utility import nearest_positive_semidefinite

if TYPE_CHECKING:
    import pandas as pd


_KIND = "aggregate-moments"
_VERSION = 1
_HELD = 20  # totals that are held, for each entry of Σ
_HELD_AT_LEAST = 200
_FARTHEST = 1e30  # typical deviations from what was seen before


def _saved(content: dict[str, Any], name: str, shape: tuple[int, ...]) -> F64:
    """Return a saved array, if it is finite and of the right shape."""
    array = np.array(content[name], dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise InvalidInput(f"{name} must be finite and of shape {shape}, got shape {array.shape}")
    return array


class UtilityEstimate(NamedTuple):
    """The estimated utility of some weights, and its standard error."""

    value: float
    standard_error: float


class AggregateMoments:
    r"""Estimate means and covariance of options from totals of known mixes: blended results only.

    A total is :math:`y = w'r`, with known weights w and rewards r that nobody saw, of mean θ and covariance Σ. So
    :math:`E\,y = w'θ` and :math:`\mathrm{Var}\,y = w'Σw`: the totals of varied mixes tell θ, and their squared
    deviations tell Σ, by two weighted linear regressions (random-coefficient regression, feasible generalised least
    squares).

    Totals come one by one or many at once, with the same result to the last bit. Memory is of the order of d⁴ for d
    options, however many totals there are.

    Parameters
    ----------
    n_options : int
        d.
    options : sequence of str, optional
        The options' names. With them, weights may be given by name.

    Notes
    -----
    **Estimator.** With the pairs :math:`x = \mathrm{svec}(ww')`, :math:`σ = \mathrm{svec}(Σ)` (√2 on what is off the
    diagonal), relevances a (1 unless given) and v the variance that a total is expected to have,

    .. math::
        \hat θ &= V^{-1} \sum a\,wy/v, & V &= \sum a\,ww'/v, \\
        \hat σ &= M^{-1} \sum a\,x\,(y - w'\hat θ)^2/2v^2, &
        M &= G - 2K + 2GTG_2, \quad G = \sum a\,xx'/2v^2,

    where M is what makes :math:`\hat σ` unbiased although residuals are measured from :math:`\hat θ`
    (K sums :math:`a^2 xx'\,w'V^{-1}w/2v^3`, G₂ is G with a² for a, T takes svec(S) to svec(V⁻¹SV⁻¹)).

    **Weights.** The best weights need v = w'Σw, which is not known. The first 20 d(d+1)/2 totals (at least 200) are
    held and weighted by iteration, the same for any order. Further ones are weighted, as many at a time, by what was
    known before them, and only sums of them are kept; so from then on the order matters, a little. `fit` iterates over
    all data instead: prefer it if they are at hand.

    **What is exact.** Given v, both estimates are unbiased in finite samples for any distribution of rewards, however
    wrong v is. Since v is estimated from the same totals, θ̂ is exactly unbiased for symmetric rewards and Σ̂ only up
    to a bias that falls like 1/n, faster than its standard error; with ``fit(..., n_passes=0)``, v = \|w\|², there is
    none. All this holds if the mixes do not depend on earlier totals; mixes that a learner chose do.

    **Standard errors** are asymptotic: :math:`\mathrm{Cov}\,\hat θ = V^{-1} (\sum a^2 ww'\,w'\hat Σw/v^2) V^{-1}`, and
    that of :math:`\hat σ` is (κ/2) M⁻¹ if all a = 1, with κ = `kurtosis` − 1, taken to be the same for every mix, as
    for Gaussian or multivariate Student-t rewards; never below the Gaussian 2, since a fourth moment from few totals is
    mostly noise. How many totals that takes is shown in ``docs/blended-results.md``; a statement on all entries of Σ
    together, as a χ² statistic is, takes more than one on single entries.

    References
    ----------
    Hildreth, C. and Houck, J. P. (1968). Some estimators for a linear model with random coefficients. *Journal of the
    American Statistical Association* 63, 584-595.

    Swamy, P. A. V. B. (1970). Efficient inference in a random coefficient regression model. *Econometrica* 38, 311-323.

    Examples
    --------
    >>> import numpy as np
    >>> import covbandit as cb
    >>> rng = np.random.default_rng(7)
    >>> W = rng.dirichlet([0.5, 0.5], size=2000)
    >>> rewards = rng.multivariate_normal([1.0, 2.0], [[1.0, 0.5], [0.5, 4.0]], size=2000)
    >>> moments = cb.AggregateMoments(2, options=["search", "video"])
    >>> moments.update_many(W, (W * rewards).sum(axis=1))
    >>> print(moments)
    AggregateMoments, 2,000 observations, kurtosis 3.163
    option   mean  standard error  variance  its standard error
    search  1.057         0.04219     1.096             0.08503
    video   2.022         0.06545     4.111              0.2196
    >>> moments.covariance.round(2).tolist()
    [[1.1, 0.27], [0.27, 4.11]]
    >>> moments.update({"search": 1.0}, total=1.3)
    >>> utility = moments.utility({"search": 0.5, "video": 0.5}, risk_aversion=0.1)
    >>> round(utility.value, 2), round(utility.standard_error, 3)
    (1.4, 0.032)
    """

    def __init__(self, n_options: int, options: Sequence[str] | None = None) -> None:
        d = validation.as_count(n_options, "n_options", 1)
        self._options = validation.as_options(options, d)
        self._n = 0
        self._sums = Sums.zero(d)
        held = max(_HELD_AT_LEAST, _HELD * (d * (d + 1) // 2))
        self._W, self._y, self._a = np.zeros((held, d)), np.zeros(held), np.zeros(held)
        self._held = 0
        self._known: Estimates | None = None

    @classmethod
    def fit(
        cls,
        W: ArrayLike,
        y: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        options: Sequence[str] | None = None,
        n_passes: int = PASSES,
    ) -> Self:
        """Return the estimates from all data at once, iterated until the weights settle; the order does not matter.

        Parameters
        ----------
        W, y, weights
            As in `update_many`.
        options : sequence of str, optional
            The options' names.
        n_passes : int
            The most reweightings. With 0 every total is weighted as if options were independent and of equal variance:
            less efficient if they are not, but Σ̂ is then exactly unbiased.

        Examples
        --------
        >>> import covbandit as cb
        >>> moments = cb.AggregateMoments.fit([[1.0], [1.0], [1.0]], [2.0, 4.0, 6.0])
        >>> moments.mean.round(6).tolist(), moments.covariance.round(6).tolist()
        ([4.0], [[4.0]])
        """
        moments = cls(validation.as_array(W, "W", 2).shape[1], options)
        passes = validation.as_count(n_passes, "n_passes")
        mixes, totals, relevance = moments._checked(W, y, weights)
        moments._sums = absorb(moments._sums, mixes, totals, relevance, passes)
        moments._n = totals.size
        return moments

    @property
    def n_options(self) -> int:
        """The number of options d."""
        return self._W.shape[1]

    @property
    def options(self) -> tuple[str, ...] | None:
        """The options' names."""
        return self._options

    @property
    def n_observations(self) -> int:
        """The number of totals so far."""
        return self._n

    def __len__(self) -> int:
        return self._n

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"AggregateMoments({self.n_options} options, {self._n:,} observation{'' if self._n == 1 else 's'})"

    def __str__(self) -> str:
        try:
            return str(self.table())
        except NotIdentified as reason:
            return f"{self!r}: {reason}"

    def update(self, weights: Mapping[str, float] | ArrayLike, total: float, weight: float = 1.0) -> None:
        """Add one total.

        Parameters
        ----------
        weights : mapping or array of d floats
            The mix: not negative, summing to one. Options that a mapping does not name have weight zero.
        total : float
            y = w'r, per unit of weight.
        weight : float
            How relevant this total is beside others, above zero: for example less for old ones. Only ratios count.
            The standard errors know that it is still one total. It is not a precision: a total is weighted by its
            expected variance anyway.

        Raises
        ------
        InvalidInput
            If anything cannot be used; nothing has changed then.
        """
        named = validation.in_option_order(weights, self._options, "weight", default=0.0)
        mix = validation.as_weights(named, self.n_options, self._options)
        y = np.array([validation.as_float(total, "total")])
        a = np.array([validation.as_positive(weight, "weight of the observation")])
        self._check_totals(mix[None, :], y)
        self._add(mix[None, :], y, a)

    def update_many(self, W: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Add many totals, all or, if anything cannot be used, none; the same as one by one.

        Parameters
        ----------
        W : array, n × d, or DataFrame
            One mix per row. The columns of a DataFrame are taken in option order by name, if options have names.
        y : array of n floats
            Their totals.
        weights : array of n floats, optional
            How relevant each is, see `update`.

        Raises
        ------
        InvalidInput
            If anything cannot be used; nothing has changed then.
        """
        self._add(*self._checked(W, y, weights))

    def merge(self, other: AggregateMoments) -> Self:
        """Add all that another estimator was told, and return this one.

        As long as both together have no more totals than are held, 20 d(d+1)/2 or 200, that is the same as telling one
        of them everything. Beyond, it adds the sums exactly, but each had weighted its totals by what it knew: an
        estimate of the same, of nearly the same precision.
        """
        if not isinstance(other, AggregateMoments):
            raise InvalidInput(f"cannot merge {type(other).__name__} into AggregateMoments")
        if (other.n_options, other.options) != (self.n_options, self.options):
            raise InvalidInput(
                f"cannot merge: options are {self.options or self.n_options} here "
                f"and {other.options or other.n_options} there"
            )
        n = self._n + other._n
        W, y, a = (array[: other._held].copy() for array in (other._W, other._y, other._a))
        self._sums = self._sums.merged(other._sums)
        self._add(W, y, a)
        self._n = n
        self._known = None
        return self

    @property
    def identified(self) -> bool:
        """Whether the mixes seen so far tell all means and the whole covariance."""
        return self._estimates().covariance is not None

    @property
    def mean(self) -> F64:
        """θ̂.

        Raises
        ------
        NotIdentified
            If the mixes seen so far do not tell all means apart.
        """
        return self._mean().copy()

    @property
    def covariance(self) -> F64:
        """Σ̂, as it is: it may have negative eigenvalues, even negative variances; see `semidefinite_covariance`.

        Raises
        ------
        NotIdentified
            If the mixes seen so far do not tell all of it.
        """
        return self._all("covariance").copy()

    def semidefinite_covariance(self, metric: str = "information") -> F64:
        r"""Return the positive semi-definite matrix nearest to Σ̂; Σ̂ itself if it is one.

        Parameters
        ----------
        metric : {"information", "frobenius"}
            What near means: with ``"information"`` the distance is :math:`(s - \hat σ)'G(s - \hat σ)`, so entries that
            are known well hardly move; with ``"frobenius"`` all entries count alike.
        """
        if metric not in ("information", "frobenius"):
            raise InvalidInput(f'metric must be "information" or "frobenius", got {metric!r}')
        nearest = self._all("semidefinite")
        if metric == "information":
            return nearest.copy()
        raw = self.covariance
        return raw if np.array_equal(raw, nearest) else nearest_positive_semidefinite(raw)

    @property
    def mean_covariance(self) -> F64:
        """The estimated covariance of θ̂, d × d."""
        return self._all("theta_covariance").copy()

    @property
    def mean_standard_errors(self) -> F64:
        """The standard error of each mean."""
        return np.asarray(np.sqrt(self._all("theta_covariance").diagonal()))

    @property
    def covariance_standard_errors(self) -> F64:
        """The standard error of each entry of Σ̂, d × d."""
        root = np.sqrt(self._all("sigma_covariance").diagonal())
        return self._estimates().unit ** 2 * unpack(root, self.n_options)

    @property
    def kurtosis(self) -> float | None:
        """The kurtosis of totals, 3 if they are Gaussian; None while there are too few to tell.

        It widens the standard errors of Σ̂ if it is above 3. It comes out low with few totals.
        """
        self._all("covariance")
        kappa = self._estimates().kappa
        return None if kappa is None else 1.0 + kappa

    def utility(self, weights: Mapping[str, float] | ArrayLike, risk_aversion: float) -> UtilityEstimate:
        r"""Return the estimated utility of a mix, :math:`w'\hat θ - ρ\,w'\hat Σw`, and its standard error.

        The estimate is linear in θ̂ and σ̂, so the error is :math:`\sqrt{w'\mathrm{Cov}(\hat θ)w +
        ρ^2\,x'\mathrm{Cov}(\hat σ)x}`, for a mix chosen beforehand. θ̂ and σ̂ are uncorrelated if rewards are
        symmetric; if they are skewed, the error leaves out a term. The mix that looks best in the same data
        looks better than it is.

        Parameters
        ----------
        weights : mapping or array of d floats
            Not negative, summing to one.
        risk_aversion : float
            ρ ≥ 0.

        Returns
        -------
        UtilityEstimate
            ``value`` and ``standard_error``.
        """
        named = validation.in_option_order(weights, self._options, "weight", default=0.0)
        w = validation.as_weights(named, self.n_options, self._options)
        rho = validation.as_risk_aversion(risk_aversion)
        x = expand(w)
        value = float(w @ self._mean() - rho * (w @ self._all("covariance") @ w))
        of_mean = float(np.sqrt(w @ self._all("theta_covariance") @ w))
        of_risk = self._estimates().unit ** 2 * float(np.sqrt(x @ self._all("sigma_covariance") @ x))
        return UtilityEstimate(value, float(np.hypot(of_mean, rho * of_risk)))

    def table(self) -> Table:
        """Return the table that is printed: means and variances with their standard errors."""
        columns = self._columns()
        kurtosis = self.kurtosis
        return Table(
            ["option", "mean", "standard error", "variance", "its standard error"],
            list(zip(*columns.values(), strict=True)),
            f"AggregateMoments, {self._n:,} observations, kurtosis {'-' if kurtosis is None else as_number(kurtosis)}",
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame, one row per option, with the covariances in ``covariance_<option>``.

        Raises
        ------
        MissingExtra
            If pandas is not installed.
        """
        columns = self._columns()
        for name, row in zip(self._names(), self.covariance.tolist(), strict=True):
            columns[f"covariance_{name}"] = row
        return data_frame(columns)

    def save(self, path: str | Path) -> None:
        """Write everything as versioned text; `load` gives an estimator that goes on bit for bit."""
        held = slice(self._held)
        content = {
            "n_options": self.n_options,
            "options": None if self._options is None else list(self._options),
            "n_observations": self._n,
            "sums": {name: array.tolist() for name, array in self._sums.arrays.items()} | self._sums.numbers,
            "held": {"W": self._W[held].tolist(), "y": self._y[held].tolist(), "weights": self._a[held].tolist()},
        }
        write_document(path, _KIND, _VERSION, content)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read an estimator written by `save`.

        Raises
        ------
        StateFileError
            If the file is truncated, damaged, foreign or of a newer format; the message says which.
        """
        _, content = read_document(path, _KIND, _VERSION)
        try:
            d = as_n_options(content["n_options"], 1)
            # The room that an estimator takes grows like d⁴, so the file must hold as much before it is made.
            sums = {name: _saved(content["sums"], name, shape) for name, shape in Sums.shapes(d).items()}
            moments = cls(d, content["options"])
            moments._restore(content, sums)
        except UNREADABLE as error:
            cause = str(error) or type(error).__name__
            raise StateFileError(f"{path} does not fit AggregateMoments: {cause}") from None
        return moments

    def _restore(self, content: dict[str, Any], sums: dict[str, F64]) -> None:
        saved, held = content["sums"], content["held"]
        for name, array in self._sums.arrays.items():
            array[...] = sums[name]
        for name in self._sums.numbers:
            number = validation.as_float(saved[name], name, yes_no=False)
            setattr(self._sums, name, number if name == "leverage" else validation.as_not_negative(number, name))
        n = len(held["y"])
        if n > self._y.size:
            raise InvalidInput(f"{n:,} totals are held, of which there is room for {self._y.size:,}")
        self._W[:n] = _saved(held, "W", (n, self.n_options) if n else (0,)).reshape(n, self.n_options)
        self._y[:n], self._a[:n] = _saved(held, "y", (n,)), _saved(held, "weights", (n,))
        if n:
            self._checked(self._W[:n], self._y[:n], self._a[:n])  # as if they were told now
        self._held, self._n = n, as_limited(content["n_observations"], "n_observations", n, MOST_ROUNDS)

    def _checked(self, W: ArrayLike, y: ArrayLike, weights: ArrayLike | None) -> tuple[F64, F64, F64]:
        columns = getattr(W, "columns", None)
        if columns is not None and self._options is not None:
            if sorted(map(str, columns)) != sorted(self._options):
                raise InvalidInput(f"the columns of W are {list(columns)}, the options {list(self._options)}")
            W = W[list(self._options)]  # type: ignore[index, call-overload]
        mixes = validation.as_array(W, "W", 2)
        if mixes.shape[1] != self.n_options:
            raise InvalidInput(f"W must have {self.n_options} columns, one per option, got shape {mixes.shape}")
        n = len(mixes)
        totals = validation.as_array(y, "y", 1)
        relevance = np.ones(n) if weights is None else validation.as_array(weights, "weights", 1)
        for name, array in (("y", totals), ("weights", relevance)):
            if array.size != n:
                raise InvalidInput(f"{name} must have {n} entries, one per row of W, got {array.size}")
        with np.errstate(invalid="ignore", over="ignore"):
            wrong = ~(np.isfinite(mixes).all(axis=1) & (mixes >= 0).all(axis=1))
            wrong |= ~(np.abs(mixes.sum(axis=1) - 1) <= validation.SUM_TOLERANCE)
        if wrong.any():
            row = int(np.argmax(wrong))
            try:
                validation.as_weights(mixes[row], self.n_options, self._options)
            except InvalidInput as reason:
                raise InvalidInput(f"row {row} of W: {reason}") from None
        bad = ~(np.isfinite(relevance) & (relevance > 0))
        if bad.any():
            row = int(np.argmax(bad))
            raise InvalidInput(f"weights must be positive and finite, got {relevance[row]} in row {row}")
        self._check_totals(mixes, totals)
        return mixes, totals, relevance

    def _check_totals(self, W: F64, y: F64) -> None:
        bad = ~(np.abs(y) <= validation.LARGEST)
        if bad.any():
            row = int(np.argmax(bad))
            raise InvalidInput(
                f"total {y[row]} in row {row} is not a number within ±{validation.LARGEST:g}; use larger units"
            )
        if self._sums.unit > 0:
            far = np.abs(y - W @ self._sums.origin) > _FARTHEST * self._sums.unit
            if far.any():
                row = int(np.argmax(far))
                raise InvalidInput(
                    f"total {y[row]} in row {row} is more than {_FARTHEST:g} typical deviations from those before; "
                    "check its unit"
                )

    def _add(self, W: F64, y: F64, a: F64) -> None:
        room = self._y.size
        begun = 0
        while begun < y.size:
            if self._held == room:
                self._sums = absorb(self._sums, self._W, self._y, self._a)
                self._held = 0
            count = min(room - self._held, y.size - begun)
            to, part = slice(self._held, self._held + count), slice(begun, begun + count)
            self._W[to], self._y[to], self._a[to] = W[part], y[part], a[part]
            self._held += count
            begun += count
        self._n += y.size
        self._known = None

    def _estimates(self) -> Estimates:
        if self._known is None:
            held = slice(self._held)
            self._known = estimate(absorb(self._sums, self._W[held], self._y[held], self._a[held]))
        return self._known

    def _mean(self) -> F64:
        known = self._estimates()
        if known.theta is None:
            raise NotIdentified(
                f"the means need {self.n_options} linearly independent mixes, {known.theta_rank} seen so far: vary the "
                "weights, for example one option at a time"
            )
        return known.theta

    def _all(self, name: str) -> F64:
        known = self._estimates()
        if known.covariance is None:
            self._mean()
            d = self.n_options
            needed = d * (d + 1) // 2
            if known.sigma_rank < needed:
                raise NotIdentified(
                    f"the covariance needs {needed} mixes whose products of weights are linearly independent, "
                    f"{known.sigma_rank} seen so far: vary the weights, for example single options and pairs with half "
                    "on each"
                )
            raise NotIdentified(
                f"the covariance needs more than {self._n} totals: they leave too little beyond the means, "
                f"which take {d} of them; {needed + d} are enough if the mixes vary"
            )
        value: F64 = getattr(known, name)
        return value

    def _names(self) -> list[str | int]:
        return list(range(self.n_options)) if self._options is None else list(self._options)

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "option": self._names(),
            "mean": self._mean().tolist(),
            "mean_standard_error": self.mean_standard_errors.tolist(),
            "variance": self.covariance.diagonal().tolist(),
            "variance_standard_error": self.covariance_standard_errors.diagonal().tolist(),
        }
