"""Means and covariance from totals of known mixes: unbiased, calibrated, and the same however they are told."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

import covbandit as cb
from covbandit.aggregate.estimates import nearest_semidefinite
from covbandit.aggregate.sums import congruence, expand, pack, unpack
from covbandit.core.typing import F64
from covbandit.errors import InvalidInput, NotIdentified, StateFileError
from covbandit.kernels.jit.compilation import compiled
from covbandit.kernels.random_coefficients import solve_random_coefficients
from covbandit.maximization.utility import nearest_positive_semidefinite

MEAN = np.array([0.2, 0.3, 0.2, 0.2, 0.2])
COVARIANCE = 1.05 * np.eye(5) - 0.05
DEVIATIONS = np.array([0.3, 1.0, 3.0, 1.0, 0.5])
UNEQUAL = (0.5 * np.eye(5) + 0.5) * np.outer(DEVIATIONS, DEVIATIONS)
MIX = np.array([0.3, 0.1, 0.2, 0.3, 0.1])
RHO = 0.7


def singles_and_pairs(d: int) -> F64:
    i, j = np.triu_indices(d)
    unit = np.eye(d)
    return np.asarray((unit[i] + unit[j]) / 2)


def draw(
    rng: np.random.Generator, n: int, design: str, mean: F64 = MEAN, covariance: F64 = COVARIANCE, df: float = np.inf
) -> tuple[F64, F64]:
    d = mean.size
    noise = rng.standard_normal((n, d)) @ np.linalg.cholesky(covariance).T
    if np.isfinite(df):  # multivariate Student-t of the given covariance
        noise *= np.sqrt((df - 2) / rng.chisquare(df, (n, 1)))
    pairs = singles_and_pairs(d)
    W = rng.dirichlet(np.ones(d), n) if design == "varied" else pairs[np.arange(n) % len(pairs)]
    return W, np.einsum("ij,ij->i", W, mean + noise)


class Runs(NamedTuple):
    """Errors of the estimates in every run, and these in units of their estimated errors."""

    theta: F64
    sigma: F64
    theta_chi2: F64
    sigma_chi2: F64
    utility_z: F64
    sigma_z: F64


@cache
def runs(n: int, count: int, design: str, unequal: bool = False, df: float = np.inf, passes: int | None = None) -> Runs:
    rng = np.random.default_rng([11, n, count, design == "varied", unequal])
    covariance = UNEQUAL if unequal else COVARIANCE
    sigma = pack(covariance)
    utility = MIX @ MEAN - RHO * MIX @ covariance @ MIX
    rows = []
    for _ in range(count):
        W, y = draw(rng, n, design, covariance=covariance, df=df)
        if passes is None:
            m = cb.AggregateMoments(5)
            m.update_many(W, y)
        else:
            m = cb.AggregateMoments.fit(W, y, n_passes=passes)
        off = m.mean - MEAN
        sigma_off = pack(m.covariance) - sigma
        errors = m._estimates().unit ** 4 * m._all("sigma_covariance")
        estimate = m.utility(MIX, RHO)
        rows.append(
            (
                off,
                sigma_off,
                off @ np.linalg.solve(m.mean_covariance, off),
                sigma_off @ np.linalg.solve(errors, sigma_off),
                (estimate.value - utility) / estimate.standard_error,
                ((m.covariance - covariance) / m.covariance_standard_errors)[np.triu_indices(5)],
            )
        )
    return Runs(*(np.array(column) for column in zip(*rows, strict=True)))


def bias(errors: F64) -> F64:
    """Return the mean of errors, in units of its own standard error."""
    return np.asarray(errors.mean(axis=0) / (errors.std(axis=0, ddof=1) / np.sqrt(len(errors))))


@pytest.mark.parametrize(("n", "design"), [(4000, "varied"), (4000, "pairs"), (150, "pairs")])
def test_estimates_are_unbiased(n: int, design: str) -> None:
    seen = runs(n, 400, design)
    assert np.abs(bias(seen.theta)).max() < 3.5
    assert np.abs(bias(seen.sigma)).max() < 3.5


@pytest.mark.parametrize("n", [20, 60])
def test_without_reweighting_there_is_no_bias_in_small_samples_either(n: int) -> None:
    seen = runs(n, 300, "varied", unequal=True, passes=0)
    assert np.abs(bias(seen.theta)).max() < 3.5
    assert np.abs(bias(seen.sigma)).max() < 3.5


def test_the_bias_of_reweighting_is_small_beside_the_error_where_variances_differ_a_hundredfold() -> None:
    for n in (300, 2000):
        sigma = runs(n, 100, "varied", unequal=True).sigma
        assert (np.abs(sigma.mean(axis=0)) / sigma.std(axis=0)).max() < 0.6


@pytest.mark.parametrize("design", ["varied", "pairs"])
def test_standard_errors_follow_the_chi_square_law(design: str) -> None:
    seen = runs(4000, 400, design)
    for statistic, degrees in ((seen.theta_chi2, 5), (seen.sigma_chi2, 15), (seen.utility_z**2, 1)):
        # Three standard errors, and five percent: these laws are asymptotic, in particular that of all of Σ together.
        assert abs(statistic.mean() / degrees - 1) < 3 * np.sqrt(2 / degrees / len(statistic)) + 0.05
        above = np.mean(statistic > stats.chi2.ppf(0.9, degrees))
        assert abs(above - 0.1) < 3 * np.sqrt(0.09 / len(statistic)) + 0.02


@pytest.mark.parametrize("design", ["varied", "pairs"])
def test_intervals_of_single_entries_hold_from_300_totals_on(design: str) -> None:
    covered = np.abs(runs(300, 200, design).sigma_z) < 1.96
    assert 0.92 < covered.mean() < 0.98


def test_heavy_tails_widen_the_errors_of_the_covariance() -> None:
    seen = runs(2000, 200, "varied", df=6)
    covered = np.abs(seen.sigma_z) < 1.96
    assert 0.9 < covered.mean() < 0.98
    W, y = draw(np.random.default_rng(3), 5000, "varied", df=6)
    heavy = cb.AggregateMoments.fit(W, y)
    W, y = draw(np.random.default_rng(3), 5000, "varied")
    light = cb.AggregateMoments.fit(W, y)
    assert heavy.kurtosis is not None
    assert light.kurtosis is not None
    assert heavy.kurtosis > 4  # 6 in theory; few of 5,000 totals are as large as that takes
    assert abs(light.kurtosis - 3) < 0.3
    assert heavy.covariance_standard_errors.mean() > 1.2 * light.covariance_standard_errors.mean()


def test_skewed_rewards_cost_some_coverage() -> None:
    rng = np.random.default_rng(0)
    mix = np.full(3, 1 / 3)
    z = []
    for _ in range(200):
        W = rng.dirichlet(np.ones(3), 400)
        m = cb.AggregateMoments.fit(W, (W * rng.exponential(1.0, (400, 3))).sum(axis=1))
        utility = m.utility(mix, 1.0)
        entries = ((m.covariance - np.eye(3)) / m.covariance_standard_errors)[np.triu_indices(3)]
        z.append([*(m.mean - 1) / m.mean_standard_errors, *entries, (utility.value - 2 / 3) / utility.standard_error])
    covered = np.mean(np.abs(z) < 1.96, axis=0)
    assert covered.min() > 0.82
    assert covered.mean() > 0.88


def test_weighting_beats_plain_least_squares_where_variances_differ() -> None:
    for n in (300, 2000):
        weighted, plain = (runs(n, 100, "varied", unequal=True, passes=passes) for passes in (50, 0))
        assert (weighted.sigma**2).mean() < 0.5 * (plain.sigma**2).mean()
        assert (weighted.theta**2).mean() < 0.8 * (plain.theta**2).mean()
    streamed = runs(2000, 100, "varied", unequal=True)
    assert (streamed.sigma**2).mean() < 1.2 * (weighted.sigma**2).mean()


def test_singles_and_pairs_give_what_the_variances_of_each_give() -> None:
    d, rounds = 4, 9
    rng = np.random.default_rng(0)
    design = singles_and_pairs(d)
    W = np.tile(design, (rounds, 1))
    y = rng.normal(3.0, 2.0, len(W))
    m = cb.AggregateMoments.fit(W, y, n_passes=0)
    # Least squares with weights 1/v and 1/2v², v = |w|², and the expectation of squared residuals worked out in full.
    v = (W**2).sum(axis=1)
    theta = np.linalg.lstsq(W / np.sqrt(v)[:, None], y / np.sqrt(v), rcond=None)[0]
    residual = np.eye(len(W)) - W @ np.linalg.solve(W.T @ (W / v[:, None]), (W / v[:, None]).T)
    X = expand(W) / v[:, None]
    sigma = np.linalg.solve(X.T @ (residual**2 @ expand(W) / v[:, None]), X.T @ ((y - W @ theta) ** 2 / v))
    np.testing.assert_allclose(m.mean, theta, rtol=1e-10)
    np.testing.assert_allclose(pack(m.covariance), sigma, rtol=1e-7)


def test_it_agrees_with_the_kernel_when_weights_are_the_same() -> None:
    # The kernel takes variances as known when it makes up for residuals measured from θ̂; with many totals that is
    # the same to first order.
    W, y = draw(np.random.default_rng(1), 4000, "varied")
    m = cb.AggregateMoments.fit(W, y, n_passes=0)
    v, X = (W**2).sum(axis=1), expand(W)
    d, n = 5, 15
    theta, sigma, C, D = np.empty(d), np.empty(n), np.empty((d, d)), np.empty((n, n))
    q = X / (2 * v**2)[:, None]
    status = compiled(solve_random_coefficients)(
        W.T @ (W / v[:, None]), W.T @ (y / v), q.T @ X, (q * y[:, None]).T @ W, q.T @ y**2,
        np.zeros(d), np.zeros(n), np.zeros(n), theta, sigma, C, D, np.empty((2, n)),
    )  # fmt: skip
    assert status == 0
    np.testing.assert_allclose(m.mean, theta, rtol=1e-9)
    np.testing.assert_allclose(pack(m.covariance), sigma, atol=2e-3)


@pytest.mark.parametrize("d", [1, 2, 10])
def test_any_number_of_options(d: int) -> None:
    rng = np.random.default_rng(d)
    A = rng.standard_normal((d, d))
    covariance = A @ A.T + 0.2 * np.eye(d)
    W, y = draw(rng, 6000, "varied", np.arange(d, dtype=float), covariance)
    m = cb.AggregateMoments.fit(W, y)
    assert (np.abs(m.mean - np.arange(d)) < 4 * m.mean_standard_errors).all()
    assert (np.abs(m.covariance - covariance) < 4.5 * m.covariance_standard_errors).all()
    assert m.mean_covariance.shape == m.covariance_standard_errors.shape == (d, d)


def test_one_option_gives_mean_and_variance() -> None:
    y = np.array([2.0, 4.0, 9.0, 5.0])
    m = cb.AggregateMoments(1)
    m.update_many(np.ones((4, 1)), y)
    assert m.mean[0] == pytest.approx(5.0, rel=1e-12)
    assert m.covariance[0, 0] == pytest.approx(y.var(ddof=1), rel=1e-7)
    assert m.mean_standard_errors[0] == pytest.approx(y.std(ddof=1) / 2, rel=1e-7)


@pytest.mark.parametrize("n", [120, 1000])
@pytest.mark.parametrize(("shift", "scale"), [(1e6, 1.0), (0.0, 1e-9), (-3e5, 7e3), (0.0, 1e60), (0.0, 1e-60)])
def test_level_and_unit_of_rewards_do_not_matter(n: int, shift: float, scale: float) -> None:
    W, y = draw(np.random.default_rng(4), n, "varied")
    plain, moved = cb.AggregateMoments(5), cb.AggregateMoments(5)
    plain.update_many(W, y)
    moved.update_many(W, shift + scale * y)
    # A level of 1e6 leaves ten digits of the deviations.
    rounding = 1e-8 if shift == 0 else 1e-8 + 1e-14 * abs(shift) / scale
    close = {"rtol": 0, "atol": rounding}
    np.testing.assert_allclose((moved.mean - shift) / scale, plain.mean, **close)
    np.testing.assert_allclose(moved.covariance / scale**2, plain.covariance, **close)
    np.testing.assert_allclose(moved.mean_standard_errors / scale, plain.mean_standard_errors, **close)
    np.testing.assert_allclose(moved.covariance_standard_errors / scale**2, plain.covariance_standard_errors, **close)
    assert moved.kurtosis == pytest.approx(plain.kurtosis, abs=1e-7)


def test_means_that_are_far_apart_cost_no_digits() -> None:
    W, y = draw(np.random.default_rng(4), 1000, "varied")
    far = np.array([0.0, 1e6, -1e6, 3e5, 10.0])
    plain, moved = cb.AggregateMoments(5), cb.AggregateMoments(5)
    plain.update_many(W, y)
    moved.update_many(W, y + W @ far)
    np.testing.assert_allclose(moved.mean - far, plain.mean, atol=1e-7)
    np.testing.assert_allclose(moved.covariance, plain.covariance, atol=1e-7)


def test_options_may_come_in_any_order() -> None:
    W, y = draw(np.random.default_rng(8), 1000, "varied", covariance=UNEQUAL)
    order = [3, 0, 4, 2, 1]
    m, permuted = cb.AggregateMoments(5), cb.AggregateMoments(5)
    m.update_many(W, y)
    permuted.update_many(W[:, order], y)
    np.testing.assert_allclose(permuted.mean, m.mean[order], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(permuted.covariance, m.covariance[np.ix_(order, order)], rtol=1e-8, atol=1e-10)


def same(one: cb.AggregateMoments, other: cb.AggregateMoments) -> bool:
    pairs = [
        (one.mean, other.mean),
        (one.covariance, other.covariance),
        (one.mean_covariance, other.mean_covariance),
        (one.covariance_standard_errors, other.covariance_standard_errors),
        (np.array(one.kurtosis), np.array(other.kurtosis)),
    ]
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in pairs)


def test_one_by_one_in_batches_or_interrupted_by_questions_is_the_same_to_the_last_bit() -> None:
    W, y = draw(np.random.default_rng(5), 700, "varied")
    whole, single, parts = (cb.AggregateMoments(5) for _ in range(3))
    whole.update_many(W, y)
    for w, total in zip(W, y, strict=True):
        single.update(w, total)
    for part in (slice(0, 250), slice(250, 601), slice(601, 700)):
        parts.update_many(W[part], y[part])
        assert parts.identified
    assert same(whole, single)
    assert same(whole, parts)


def test_the_order_does_not_matter_while_totals_are_held_or_fitted_at_once() -> None:
    W, y = draw(np.random.default_rng(6), 700, "varied")
    order = np.random.default_rng(0).permutation(700)
    for n in (250, 700):
        first, second = (cb.AggregateMoments.fit(W[k], y[k]) for k in (np.arange(n), order[order < n]))
        np.testing.assert_allclose(second.mean, first.mean, atol=1e-10)
        np.testing.assert_allclose(second.covariance, first.covariance, atol=1e-9)
    streamed = cb.AggregateMoments(5)
    streamed.update_many(W[:250], y[:250])
    np.testing.assert_allclose(streamed.covariance, cb.AggregateMoments.fit(W[:250], y[:250]).covariance, atol=1e-10)


def test_merging_is_the_union_while_totals_are_held() -> None:
    W, y = draw(np.random.default_rng(9), 280, "varied")
    whole, one, other = (cb.AggregateMoments(5) for _ in range(3))
    whole.update_many(W, y)
    one.update_many(W[:100], y[:100])
    other.update_many(W[100:], y[100:])
    assert same(one.merge(other), whole)
    assert len(other) == 180


@pytest.mark.parametrize("sizes", [(900, 1100), (150, 1850), (1850, 150), (2000, 0), (0, 2000)])
def test_merging_more_is_nearly_the_union(sizes: tuple[int, int]) -> None:
    W, y = draw(np.random.default_rng(10), 2000, "varied", mean=MEAN + 1000)
    whole, one, other = (cb.AggregateMoments(5) for _ in range(3))
    whole.update_many(W, y)
    one.update_many(W[: sizes[0]], y[: sizes[0]])
    other.update_many(W[sizes[0] :], y[sizes[0] :])
    one.merge(other)
    assert len(one) == 2000
    assert (np.abs(one.mean - whole.mean) < 0.3 * whole.mean_standard_errors).all()
    assert (np.abs(one.covariance - whole.covariance) < 0.6 * whole.covariance_standard_errors).all()
    np.testing.assert_allclose(one.covariance_standard_errors, whole.covariance_standard_errors, rtol=0.15)


def test_merging_adds_sums_exactly_whatever_origin_and_unit_they_have() -> None:
    W, y = draw(np.random.default_rng(12), 800, "varied")
    y[400:] = 5 + 3 * y[400:]
    one, other = (cb.AggregateMoments.fit(W[k], y[k], n_passes=0) for k in (slice(400), slice(400, 800)))
    ours, theirs = one._sums, other._sums
    moved = theirs.rebased(ours.origin, ours.unit)
    v = (W[400:] ** 2).sum(axis=1) * (theirs.unit / ours.unit) ** 2
    direct = ours.zero(5)
    direct.origin, direct.unit = ours.origin, ours.unit
    direct = direct.with_totals(W[400:], direct.measured(W[400:], y[400:]), np.ones(400), v)
    for name in ("V", "b", "G", "H", "h"):
        np.testing.assert_allclose(getattr(moved, name), getattr(direct, name), rtol=1e-9, atol=1e-9)


def test_relevance_counts_by_ratio_and_is_not_taken_for_more_data() -> None:
    W, y = draw(np.random.default_rng(13), 250, "varied")
    a = np.random.default_rng(0).uniform(0.2, 3.0, 250)
    once, tenfold, plain = (cb.AggregateMoments(5) for _ in range(3))
    once.update_many(W, y, a)
    tenfold.update_many(W, y, 10 * a)
    plain.update_many(W, y)
    np.testing.assert_allclose(tenfold.covariance, once.covariance, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(tenfold.mean_standard_errors, once.mean_standard_errors, rtol=1e-8)
    np.testing.assert_allclose(tenfold.covariance_standard_errors, once.covariance_standard_errors, rtol=1e-8)
    # Half of the totals, nearly: the errors are nearly those of that half.
    small = np.where(np.arange(250) < 125, 1.0, 1e-6)
    half, first = (
        cb.AggregateMoments.fit(W, y, small, n_passes=0),
        cb.AggregateMoments.fit(W[:125], y[:125], n_passes=0),
    )
    np.testing.assert_allclose(half.mean, first.mean, atol=1e-3)
    np.testing.assert_allclose(half.mean_standard_errors, first.mean_standard_errors, rtol=1e-2)
    np.testing.assert_allclose(half.covariance, first.covariance, atol=1e-2)
    np.testing.assert_allclose(half.covariance_standard_errors, first.covariance_standard_errors, rtol=0.1)


def test_estimates_with_relevances_are_unbiased_and_calibrated() -> None:
    rng = np.random.default_rng(14)
    theta, sigma, z = [], [], []
    for _ in range(400):
        W, y = draw(rng, 60, "varied")
        m = cb.AggregateMoments.fit(W, y, rng.uniform(0.1, 2.0, 60), n_passes=0)
        theta.append(m.mean - MEAN)
        sigma.append(pack(m.covariance - COVARIANCE))
        z.append((m.mean - MEAN) / m.mean_standard_errors)
    assert np.abs(bias(np.array(theta))).max() < 3.5
    assert np.abs(bias(np.array(sigma))).max() < 3.5
    assert 0.9 < np.mean(np.abs(z) < 1.96) < 0.97


@pytest.mark.parametrize("n", [0, 3, 40, 300, 301, 900])
def test_saved_and_loaded_it_goes_on_bit_for_bit(n: int, tmp_path: Path) -> None:
    W, y = draw(np.random.default_rng(15), 1300, "varied")
    m = cb.AggregateMoments(5, options=list("abcde"))
    m.update_many(W[:n], y[:n])
    m.save(tmp_path / "moments.json")
    again = cb.AggregateMoments.load(tmp_path / "moments.json")
    assert again.options == m.options
    assert len(again) == n
    for each in (m, again):
        each.update_many(W[n:], y[n:])
    assert same(m, again)
    m.save(tmp_path / "one.json")
    again.save(tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_damaged_foreign_and_newer_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "moments.json"
    cb.AggregateMoments(2).save(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    changes = {
        "format": ("covbandit-learner", "lacks format"),
        "version": (99, "upgrade"),
        "checksum": ("0", "damaged"),
    }
    for key, (value, message) in changes.items():
        path.write_text(json.dumps(document | {key: value}), encoding="utf-8")
        with pytest.raises(StateFileError, match=message):
            cb.AggregateMoments.load(path)
    path.write_text(json.dumps(document)[:100], encoding="utf-8")
    with pytest.raises(StateFileError, match="truncated"):
        cb.AggregateMoments.load(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StateFileError, match="text"):
        cb.AggregateMoments.load(path)
    with pytest.raises(StateFileError, match="cannot read"):
        cb.AggregateMoments.load(tmp_path / "none.json")


def test_memory_does_not_grow() -> None:
    W, y = draw(np.random.default_rng(16), 20_000, "varied")
    m = cb.AggregateMoments(5)

    def size() -> int:
        return sum(array.nbytes for array in [*m._sums.arrays.values(), m._W, m._y, m._a])

    before = size()
    m.update_many(W, y)
    assert m.identified
    assert size() == before < 8 * 10 * 5**4


def test_what_is_missing_is_named() -> None:
    m = cb.AggregateMoments(5)
    assert not m.identified
    with pytest.raises(NotIdentified, match="means need 5 linearly independent mixes, 0 seen so far"):
        _ = m.mean
    for i in range(3):
        for total in (1.0, 2.0, 4.0):
            m.update(np.eye(5)[i], total)
    with pytest.raises(NotIdentified, match="3 seen so far: vary the weights"):
        _ = m.mean
    with pytest.raises(NotIdentified, match="means need"):
        _ = m.covariance
    assert "3 seen so far" in str(m)
    for i in (3, 4):
        m.update_many(np.eye(5)[[i, i]], [0.0, 1.0])
    np.testing.assert_allclose(m.mean, [7 / 3, 7 / 3, 7 / 3, 0.5, 0.5], rtol=1e-6)
    for ask in ("covariance", "mean_standard_errors", "covariance_standard_errors", "mean_covariance", "kurtosis"):
        with pytest.raises(NotIdentified, match=r"covariance needs 15 mixes .* 5 seen so far"):
            getattr(m, ask)
    with pytest.raises(NotIdentified):
        m.utility(MIX, 1.0)
    assert not m.identified


def test_as_many_totals_as_unknowns_do_not_tell_variances() -> None:
    m = cb.AggregateMoments(2)
    m.update_many([[1, 0], [0, 1], [0.5, 0.5]], [1.0, 2.0, 4.0])
    with pytest.raises(NotIdentified, match="needs more than 3 totals"):
        _ = m.covariance
    m.update_many([[1, 0], [0, 1], [0.5, 0.5]], [1.5, 2.0, 3.0])
    assert m.identified
    single = cb.AggregateMoments(1)
    single.update([1.0], 3.0)
    assert single.mean[0] == pytest.approx(3.0)
    assert not single.identified


def test_a_long_start_with_one_mix_does_no_harm() -> None:
    W, y = draw(np.random.default_rng(17), 3000, "varied")
    W[:700] = 0.2
    y[:700] = np.random.default_rng(0).normal(MEAN.mean(), np.sqrt(MIX @ COVARIANCE @ MIX), 700)
    m = cb.AggregateMoments(5)
    m.update_many(W[:700], y[:700])
    assert not m.identified
    m.update_many(W[700:], y[700:])
    assert (np.abs(m.mean - MEAN) < 4 * m.mean_standard_errors).all()
    assert (np.abs(m.covariance - COVARIANCE) < 4 * m.covariance_standard_errors).all()


@pytest.mark.parametrize("value", [0.0, 7.5])
def test_totals_without_noise_are_ordinary(value: float) -> None:
    W, _ = draw(np.random.default_rng(18), 500, "varied")
    m = cb.AggregateMoments(5)
    m.update_many(W, np.full(500, value))
    np.testing.assert_allclose(m.mean, value, atol=1e-9)
    np.testing.assert_allclose(m.covariance, 0.0, atol=1e-9)
    assert m.utility(MIX, 1.0).standard_error < 1e-3


def test_bad_input_is_refused_and_changes_nothing() -> None:
    W, y = draw(np.random.default_rng(19), 310, "varied")
    m = cb.AggregateMoments(5, options=list("abcde"))
    m.update_many(W, y)
    before = m.mean
    refusals = [
        (lambda: m.update([0.5, 0.5], 1.0), "5 entries"),
        (lambda: m.update([0.5, 0.6, -0.1, 0, 0], 1.0), "'c'.*negative"),
        (lambda: m.update([0.5, 0.6, 0, 0, 0], 1.0), "sum to"),
        (lambda: m.update(MIX, float("nan")), "total must be finite"),
        (lambda: m.update(MIX, "much"), "total must be a number"),
        (lambda: m.update(MIX, 1e101), "larger units"),
        (lambda: m.update(MIX, 1e60), "typical deviations"),
        (lambda: m.update(MIX, 1.0, weight=0.0), "positive"),
        (lambda: m.update({"a": 0.5, "z": 0.5}, 1.0), "unknown option 'z'"),
        (lambda: m.update_many(W[:, :4], y), "5 columns"),
        (lambda: m.update_many(W, y[:-1]), "310 entries"),
        (lambda: m.update_many(W, y, np.ones(3)), "310 entries"),
        (lambda: m.update_many(W, y, -np.ones(310)), "positive and finite"),
        (lambda: m.update_many(np.vstack([W, 2 * W[:1]]), np.append(y, 0.0)), "row 310 of W: weights sum"),
        (lambda: m.update_many(np.vstack([W, np.full(5, np.nan)]), np.append(y, 0.0)), "row 310 of W.*not finite"),
        (lambda: m.update_many(W, np.append(y[:-1], np.inf)), "row 309"),
        (lambda: m.update_many("W", y), "numeric"),
        (lambda: m.utility(MIX, -1.0), "not be negative"),
        (lambda: m.utility([1.0], 1.0), "5 entries"),
        (lambda: m.semidefinite_covariance("euclid"), "information"),
        (lambda: m.merge(cb.AggregateMoments(5)), "cannot merge"),
        (lambda: m.merge("m"), "cannot merge"),  # type: ignore[arg-type]
        (lambda: cb.AggregateMoments(0), "at least 1"),
        (lambda: cb.AggregateMoments(2, options=["a", "a"]), "named twice"),
        (lambda: cb.AggregateMoments.fit(W, y, n_passes=-1), "at least 0"),
    ]
    for refused, message in refusals:
        with pytest.raises(InvalidInput, match=message):
            refused()  # type: ignore[no-untyped-call]
        assert len(m) == 310
        assert np.array_equal(m.mean, before)
    m.update_many(np.empty((0, 5)), [])
    assert len(m) == 310


def test_what_is_returned_is_the_callers() -> None:
    W, y = draw(np.random.default_rng(20), 200, "varied")
    m = cb.AggregateMoments(5)
    m.update_many(W, y)
    before = m.mean, m.covariance, m.mean_covariance, m.semidefinite_covariance()
    for array in (m.mean, m.covariance, m.mean_covariance, m.semidefinite_covariance(), W, y):
        array[:] = -1.0
    after = m.mean, m.covariance, m.mean_covariance, m.semidefinite_covariance()
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_tables_and_names() -> None:
    pd = pytest.importorskip("pandas")
    names = ["search", "social", "video"]
    W, y = draw(np.random.default_rng(21), 400, "varied", MEAN[:3], COVARIANCE[:3, :3])
    m = cb.AggregateMoments(3, options=names)
    m.update_many(pd.DataFrame(W[:, [2, 0, 1]], columns=["video", "search", "social"]), pd.Series(y))
    plain = cb.AggregateMoments.fit(W, y, options=names)
    by_name = cb.AggregateMoments.fit(pd.DataFrame(W, columns=names)[["video", "social", "search"]], y, options=names)
    assert same(plain, by_name)
    assert repr(m) == "AggregateMoments(3 options, 400 observations)"
    assert str(m).splitlines()[1].split()[:2] == ["option", "mean"]
    frame = m.to_frame()
    assert list(frame["option"]) == names
    np.testing.assert_array_equal(frame[[f"covariance_{name}" for name in names]], m.covariance)
    np.testing.assert_array_equal(frame["mean_standard_error"], m.mean_standard_errors)
    assert m.utility({"video": 1.0}, 0.0).value == m.mean[2]
    np.testing.assert_allclose(m.mean, plain.mean, atol=0.2)
    with pytest.raises(InvalidInput, match="columns of W"):
        m.update_many(pd.DataFrame(W, columns=["a", "b", "c"]), y)


def test_the_error_of_a_utility_is_that_of_its_parts() -> None:
    W, y = draw(np.random.default_rng(22), 600, "varied")
    m = cb.AggregateMoments.fit(W, y)
    single = m.utility(np.eye(5)[1], 0.0)
    assert single.value == pytest.approx(m.mean[1])
    assert single.standard_error == pytest.approx(m.mean_standard_errors[1])
    risky = m.utility(np.eye(5)[1], 3.0)
    assert risky.value == pytest.approx(m.mean[1] - 3 * m.covariance[1, 1])
    assert risky.standard_error == pytest.approx(
        np.hypot(m.mean_standard_errors[1], 3 * m.covariance_standard_errors[1, 1])
    )


def test_the_nearest_semidefinite_matrix_satisfies_its_optimality_conditions() -> None:
    rng = np.random.default_rng(23)
    for d in (2, 5, 8):
        X = expand(rng.dirichlet(np.ones(d), 2 * d * d))
        G = X.T @ X
        A = rng.standard_normal((d, d))
        S = np.eye(d) + A + A.T
        P = nearest_semidefinite(S, G)
        slack = unpack(G @ pack(P - S), d)
        size = np.abs(slack).max()
        assert np.linalg.eigvalsh(P)[0] > -1e-12
        assert np.linalg.eigvalsh(slack)[0] > -1e-4 * size
        assert abs(np.sum(slack * P)) < 1e-7 * (pack(S) @ G @ pack(S))
        assert pack(P - S) @ G @ pack(P - S) <= pack(nearest_positive_semidefinite(S) - S) @ G @ pack(
            nearest_positive_semidefinite(S) - S
        )
    np.testing.assert_array_equal(nearest_semidefinite(np.eye(3), np.eye(6)), np.eye(3))


def test_an_indefinite_estimate_is_repaired_on_request_only() -> None:
    W, y = draw(np.random.default_rng(24), 60, "varied")
    m = cb.AggregateMoments.fit(W, y)
    assert np.linalg.eigvalsh(m.covariance)[0] < 0
    for metric in ("information", "frobenius"):
        repaired = m.semidefinite_covariance(metric)
        assert np.linalg.eigvalsh(repaired)[0] > -1e-12
        assert cb.maximize_utility(m.mean, repaired, 1.0).certified
    W, y = draw(np.random.default_rng(24), 5000, "varied")
    m = cb.AggregateMoments.fit(W, y)
    np.testing.assert_array_equal(m.semidefinite_covariance(), m.covariance)
    np.testing.assert_array_equal(m.semidefinite_covariance("frobenius"), m.covariance)


def test_congruence_is_what_it_says() -> None:
    rng = np.random.default_rng(25)
    A, S = rng.standard_normal((2, 4, 4))
    S = S + S.T
    np.testing.assert_allclose(congruence(A) @ pack(S), pack(A @ S @ A.T), rtol=1e-12)
    np.testing.assert_allclose(unpack(pack(S), 4), S)
