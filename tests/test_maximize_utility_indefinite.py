"""`maximize_utility(indefinite="exact")`: the proven maximum of a quadratic that is neither convex nor concave."""

from __future__ import annotations

import itertools
import time
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from covbandit.errors import InvalidInput, NotPositiveSemidefinite, Unsupported
from covbandit.maximization import Optimum, maximize_optimistic, maximize_utility, optimistic, utility
from decision_set import assert_on_the_set, largest_support
from optimistic_rivals import scip_maximum
from quadratic_programs import symmetric


class Indefinite(NamedTuple):
    mean: np.ndarray
    covariance: np.ndarray
    rho: float = 1.0
    c: float | None = None

    def value(self, w):
        return float(w @ self.mean - self.rho * (w @ self.covariance @ w))

    def solve(self, **more) -> Optimum:
        """Solve it and check what holds for every answer."""
        optimum = maximize_utility(*self[:3], min_weight=self.c, indefinite="exact", **more)
        assert_on_the_set(optimum.weights, self.c)
        assert optimum.utility == pytest.approx(self.value(optimum.weights), abs=1e-13 * self.size)
        assert optimum.certificate >= 0
        assert optimum.certified == (optimum.certificate <= optimum.tolerance)
        assert optimum.tolerance <= max(1e-12, 4e-14 * self.mean.size) * 2 * self.size
        return optimum

    @property
    def size(self):
        """The size of the terms; tolerances are shares of it."""
        return float(np.abs(self.mean).max() + self.rho * np.abs(self.covariance).max())


def best_on_all_faces(program):
    """Return the largest utility at a stationary point of any face, in code of its own.

    Of the maximisers one is alone on its face, so that the linear equations of that face have one solution. A face is
    made of the options that have weight and, of these, of those that have more than c.
    """
    mean, covariance, rho, c = program
    d, least = mean.size, c or 0.0
    best = -np.inf
    for k in range(1, largest_support(d, c) + 1):
        rest = max(1 - k * least, 0.0)
        for chosen in itertools.combinations(range(d), k):
            corners = np.zeros((k, d))
            corners[:, chosen] = least
            corners[range(k), chosen] += rest
            form = np.add.outer(corners @ mean, corners @ mean) / 2 - rho * corners @ covariance @ corners.T
            for n in range(1, k + 1) if least else [k]:
                for face in itertools.combinations(range(k), n):
                    B = form[np.ix_(face, face)]
                    bent = B[1:, 1:] - B[:1, 1:] - B[1:, :1] + B[0, 0]
                    shares = np.linalg.lstsq(bent, B[0, 0] - B[0, 1:], rcond=None)[0]
                    shares = np.append(1 - shares.sum(), shares)
                    if shares.min() >= 0:
                        best = max(best, program.value(shares @ corners[list(face)]))
    return best


def prove(program, **more):
    """Assert that the answer is certified, and right by the enumeration of all faces."""
    optimum = program.solve(**more)
    best = best_on_all_faces(program)
    slack = 1e-13 * program.size
    assert optimum.certified
    assert optimum.upper_bound >= best - slack
    assert optimum.utility >= best - optimum.tolerance - slack
    assert optimum.utility <= best + 1e-10 * program.size  # the faces' equations may be ill-conditioned
    return optimum


# ----------------------------------------------------------------------------------------------------------------------
# Problems


def gaussian(rng, d):
    return rng.standard_normal(d), symmetric(rng.standard_normal((d, d)))


def no_means(rng, d):
    return np.zeros(d), symmetric(rng.standard_normal((d, d)))


def variances(rng, d):
    """Positive on the diagonal, as estimates mostly are: larger supports."""
    return 0.1 * rng.standard_normal(d), symmetric(rng.standard_normal((d, d))) + np.diag(rng.uniform(1, 3, d))


def negative_diagonal(rng, d):
    return rng.standard_normal(d), symmetric(rng.standard_normal((d, d))) - np.diag(rng.uniform(0, 2, d))


def one_negative(rng, d):
    """A covariance less a matrix of rank one."""
    factor, v = rng.standard_normal((d + 2, d)), rng.standard_normal(d)
    return 0.1 * rng.standard_normal(d), factor.T @ factor / (d + 2) - 2 * np.outer(v, v) / d


def singular(rng, d):
    rank = int(rng.integers(1, d + 1))
    factor = rng.standard_normal((rank, d))
    return rng.choice([0.0, 0.1]) * rng.standard_normal(d), factor.T @ np.diag(rng.choice([-1.0, 1.0], rank)) @ factor


def duplicated(rng, d):
    twins = rng.integers(0, max(d // 2, 1), d)
    mean, covariance = variances(rng, d)
    return mean[twins], covariance[np.ix_(twins, twins)]


def tied(rng, d):
    diagonal, other = rng.choice([-1.0, -0.05, 0.0, 0.5, 1.0, 2.0], 2)
    return np.full(d, rng.standard_normal()), np.where(np.eye(d, dtype=bool), diagonal, other)


def integers(rng, d):
    return rng.integers(-1, 2, d).astype(float), symmetric(2.0 * rng.integers(-2, 3, (d, d)))


def badly_scaled(rng, d):
    units = 10.0 ** rng.uniform(-3, 3, d)
    mean, covariance = variances(rng, d)
    return mean * units, covariance * np.outer(units, units)


def nearly_linear(rng, d):
    return rng.standard_normal(d), 1e-9 * symmetric(rng.standard_normal((d, d)))


def midpoint_estimates(rng, d, rounds=20):
    """What MC-ETE knows of the paper's instance: variances of single options and of the middles between two."""
    mean, covariance = np.full(d, 0.2), np.where(np.eye(d, dtype=bool), 1.0, -0.05)
    mean[1 % d] = 0.3

    def rewards(*chosen):
        w = sum(np.eye(d)[i] for i in chosen) / len(chosen)
        return rng.normal(w @ mean, np.sqrt(w @ covariance @ w), rounds)

    singles = [rewards(i) for i in range(d)]
    estimate = np.diag([y.var() for y in singles])
    for i, j in itertools.combinations(range(d), 2):
        estimate[i, j] = estimate[j, i] = 2 * rewards(i, j).var() - (estimate[i, i] + estimate[j, j]) / 2
    return np.array([y.mean() for y in singles]), estimate


FAMILIES = {
    family.__name__: family
    for family in (
        gaussian,
        no_means,
        variances,
        negative_diagonal,
        one_negative,
        singular,
        duplicated,
        tied,
        integers,
        badly_scaled,
        nearly_linear,
        midpoint_estimates,
    )
}

# ----------------------------------------------------------------------------------------------------------------------
# Against all faces


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_no_face_has_anything_better(family):
    for seed in range(60):
        rng = np.random.default_rng([seed, 1])
        d = int(rng.integers(2, 8))
        prove(Indefinite(*FAMILIES[family](rng, d), float(rng.choice([0.1, 1.0, 10.0]))))


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_no_face_has_anything_better_where_weights_are_zero_or_at_least_c(family):
    for seed in range(20):
        rng = np.random.default_rng([seed, 2])
        d = int(rng.integers(2, 6))
        c = float(rng.choice([0.05, 0.1, 0.2, 0.3, 0.6]))
        prove(Indefinite(*FAMILIES[family](rng, d), float(rng.choice([0.1, 1.0, 10.0])), c))


@settings(max_examples=150)
@given(st.data())
def test_small_integers_make_every_kind_of_tie(data):
    d = data.draw(st.integers(1, 5))
    entries = st.integers(-3, 3)
    covariance = np.zeros((d, d))
    for i, j in itertools.combinations_with_replacement(range(d), 2):
        covariance[i, j] = covariance[j, i] = data.draw(entries)
    mean = np.array(data.draw(st.lists(entries, min_size=d, max_size=d)), dtype=float)
    prove(Indefinite(mean, covariance, 1.0, data.draw(st.sampled_from([None, 0.2, 0.25, 0.5]))))


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("c", [None, 0.1])
def test_up_to_ten_options_are_certified(family, c):
    for d, seed in itertools.product((8, 9, 10), range(8)):
        program = Indefinite(*FAMILIES[family](np.random.default_rng([seed, d]), d), 1.0, c)
        optimum = program.solve()
        assert optimum.certified
        assert optimum.certificate <= 2e-12 * program.size
        # Whatever else may be tried is no better.
        rng = np.random.default_rng(seed)
        for alpha in (0.1, 1.0):
            for w in rng.dirichlet(np.full(d, alpha), 200):
                if c is None:
                    assert program.value(w) <= optimum.upper_bound + 1e-13 * program.size


@pytest.mark.parametrize("rho", [0.1, 10.0])
@pytest.mark.parametrize("d", [8, 9, 10])
def test_estimates_from_midpoints_are_certified(d, rho):
    indefinite = 0
    for seed in range(20):
        program = Indefinite(*midpoint_estimates(np.random.default_rng([seed, d, 7]), d), rho)
        optimum = program.solve()
        assert optimum.certified
        indefinite += optimum.method == "branch and bound"
    assert indefinite >= 15


# ----------------------------------------------------------------------------------------------------------------------
# Cliques: over the simplex w'Gw of a graph is at most 1 - 1/ω, ω the size of its largest clique (Motzkin and Straus)


def paley(q):
    squares = {x * x % q for x in range(1, q)}
    return np.array([[(i - j) % q in squares for j in range(q)] for i in range(q)])


def petersen():
    pairs = list(itertools.combinations(range(5), 2))
    return np.array([[not set(a) & set(b) for b in pairs] for a in pairs])


def parts(*sizes):
    """A complete multipartite graph, of which each part is an independent set."""
    part = np.repeat(np.arange(len(sizes)), sizes)
    return part[:, None] != part


def ring(n):
    return np.array([[abs(i - j) in (1, n - 1) for j in range(n)] for i in range(n)])


GRAPHS = {
    "no edges": (np.zeros((6, 6), dtype=bool), 1),
    "ring of 5": (ring(5), 2),
    "ring of 9": (ring(9), 2),
    "all but a ring of 8": (~ring(8) & ~np.eye(8, dtype=bool), 4),
    "all but a ring of 10": (~ring(10) & ~np.eye(10, dtype=bool), 5),
    "Petersen": (petersen(), 2),
    "all but Petersen": (~petersen() & ~np.eye(10, dtype=bool), 4),
    "parts 3, 3, 3": (parts(3, 3, 3), 3),
    "parts 1, 2, 3, 4": (parts(1, 2, 3, 4), 4),
    "parts 2, 2, 2, 2, 2": (parts(2, 2, 2, 2, 2), 5),
    "Paley 13": (paley(13), 3),
    "Paley 17": (paley(17), 3),
    "Paley 29": (paley(29), 4),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_the_largest_clique_of_a_graph(name):
    graph, size = GRAPHS[name]
    d = len(graph)
    for constant in (0.0, 0.5):  # the second makes equal weights on largest cliques the only maximisers
        optimum = Indefinite(np.zeros(d), -(graph + constant * np.eye(d))).solve()
        assert optimum.certified
        assert optimum.utility == pytest.approx(1 - (1 - constant) / size, abs=1e-12)
    chosen = np.flatnonzero(optimum.weights)
    assert len(chosen) == size
    assert (graph | np.eye(d, dtype=bool))[np.ix_(chosen, chosen)].all()
    # With c there is room for the clique or, if c is larger, not.
    fits = Indefinite(np.zeros(d), -graph.astype(float), 1.0, 1 / (size + 0.5)).solve()
    assert fits.utility == pytest.approx(1 - 1 / size, abs=1e-12)
    if size > 1 and d <= 10:
        smaller = Indefinite(np.zeros(d), -graph.astype(float), 1.0, 1 / (size - 0.5)).solve()
        assert smaller.certified
        assert smaller.utility < 1 - 1 / size - 1e-3


# ----------------------------------------------------------------------------------------------------------------------
# SCIP


@pytest.mark.parametrize("c", [None, 0.15])
@pytest.mark.parametrize("family", ["gaussian", "midpoint_estimates", "negative_diagonal", "variances"])
def test_scip_agrees(family, c):
    program = Indefinite(*FAMILIES[family](np.random.default_rng(11), 6), 1.0, c)
    optimum = program.solve()
    scip = scip_maximum(program.mean, np.zeros((6, 6)), program.covariance, 1.0, c, limit=2.0)
    assert optimum.certified
    assert program.value(scip.weights) <= optimum.upper_bound + 1e-13 * program.size
    assert optimum.utility <= scip.bound + 1e-6 * program.size
    if scip.status in ("optimal", "gaplimit"):
        assert optimum.utility == pytest.approx(scip.value, abs=1e-6 * program.size)


# ----------------------------------------------------------------------------------------------------------------------
# More options than can be proven


def test_thirty_options_have_an_honest_bound(monkeypatch):
    monkeypatch.setattr(utility, "NODE_LIMIT", 3000)
    proven = 0
    for family in ("midpoint_estimates", "one_negative", "variances", "gaussian"):
        program = Indefinite(*FAMILIES[family](np.random.default_rng(3), 30))
        optimum = program.solve()
        proven += optimum.certified
        assert optimum.nodes <= 3000
        assert optimum.upper_bound >= optimum.utility
        assert optimum.upper_bound <= program.size
        assert optimum.certified or optimum.nodes >= 2998
        supports = np.random.default_rng(4).dirichlet(np.full(30, 0.1), 500)
        assert max(program.value(w) for w in supports) <= optimum.upper_bound + 1e-13 * program.size
    assert 0 < proven < 4


def test_a_bound_from_few_nodes_holds(monkeypatch):
    for seed, limit in itertools.product(range(6), (1, 2, 7, 20)):
        program = Indefinite(*midpoint_estimates(np.random.default_rng([seed, 3]), 7))
        monkeypatch.setattr(utility, "NODE_LIMIT", limit)
        optimum = program.solve()
        assert optimum.nodes <= limit
        assert optimum.upper_bound >= best_on_all_faces(program) - 1e-13 * program.size


@pytest.mark.parametrize(("d", "seconds"), [(20, 5), (50, 10), (100, 15)])
def test_many_options_end_within_seconds(d, seconds):
    program = Indefinite(*one_negative(np.random.default_rng(d), d))
    begun = time.process_time()
    optimum = program.solve()
    assert time.process_time() - begun < seconds
    assert optimum.nodes <= utility.NODE_LIMIT


def test_ctrl_c_is_noticed_between_nodes(monkeypatch):
    compiled, calls = optimistic.compiled, []

    def interrupt_the_third(kernel):
        if kernel is optimistic.prove_optimistic:
            calls.append(kernel)
            if len(calls) == 3:
                raise KeyboardInterrupt
        return compiled(kernel)

    monkeypatch.setattr(optimistic, "compiled", interrupt_the_third)
    with pytest.raises(KeyboardInterrupt):
        Indefinite(*midpoint_estimates(np.random.default_rng(3), 30)).solve()


# ----------------------------------------------------------------------------------------------------------------------
# Units, levels, symmetry


@pytest.mark.parametrize("unit", [1e-100, 1e-8, 1e8, 1e100])
def test_units_do_not_matter(unit):
    for seed in range(5):
        mean, covariance = variances(np.random.default_rng(seed), 7)
        plain = Indefinite(mean, covariance).solve()
        scaled = Indefinite(unit * mean, unit * covariance).solve()
        risk = Indefinite(unit * mean, covariance, unit).solve()
        for other in (scaled, risk):
            assert other.certified
            assert other.utility / unit == pytest.approx(plain.utility, abs=1e-11)


@pytest.mark.parametrize("family", ["gaussian", "variances", "one_negative", "midpoint_estimates", "integers"])
@pytest.mark.parametrize("c", [None, 0.15])
def test_constants_added_to_means_or_covariances_cost_no_digits(family, c):
    """They shift the utility by as much, and leave the weights as good and as certain as without them."""
    for seed in range(8):
        mean, covariance = FAMILIES[family](np.random.default_rng(seed), 6)
        # So that adding a constant does not round.
        mean, covariance = (np.round(x * 2**20) / 2**20 for x in (mean, symmetric(covariance)))
        near = Indefinite(mean, covariance, 2.0, c)
        best = near.solve()
        for offset in (-(2.0**30), 2.0**30):
            shifts = [(Indefinite(mean + offset, covariance, 2.0, c), offset)]
            if np.linalg.eigvalsh(covariance)[0] < -0.01:
                level = np.sign(offset) * 2.0**20
                shifts.append((Indefinite(mean, covariance + level, 2.0, c), -2 * level))
            for far, shift in shifts:
                optimum = maximize_utility(*far[:3], min_weight=c, indefinite="exact")
                assert optimum.certified
                assert near.value(optimum.weights) == pytest.approx(best.utility, abs=4e-12 * near.size)
                assert optimum.utility == pytest.approx(best.utility + shift, rel=1e-15)
                if optimum.indefinite == "exact":
                    assert optimum.tolerance <= 2.1 * best.tolerance
                    assert optimum.certificate <= 4e-12 * near.size


def test_the_order_of_options_does_not_matter():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        mean, covariance = midpoint_estimates(rng, 9)
        order = rng.permutation(9)
        one = Indefinite(mean, covariance).solve()
        other = Indefinite(mean[order], covariance[np.ix_(order, order)]).solve()
        assert other.utility == pytest.approx(one.utility, abs=3e-12)


def test_the_optimistic_maximiser_agrees():
    for seed in range(20):
        mean, covariance = midpoint_estimates(np.random.default_rng(seed), 8)
        exact = Indefinite(mean, covariance, 0.5).solve()
        ucb = maximize_optimistic(mean, np.zeros((8, 8)), covariance, 0.5, certified=True)
        assert ucb.certified
        assert ucb.utility == pytest.approx(exact.utility, abs=1e-9)


def test_the_same_problem_has_the_same_answer_and_a_start_changes_nothing():
    for seed in range(10):
        program = Indefinite(*midpoint_estimates(np.random.default_rng(seed), 8))
        arrays = [np.array(a) for a in program[:2]]
        for array in arrays:
            array.setflags(write=False)
        one = Indefinite(*arrays).solve()
        assert_array_equal(one.weights, program.solve().weights)
        for array, before in zip(arrays, program[:2], strict=True):
            assert_array_equal(array, before)
        for start in (np.full(8, 1 / 8), np.eye(8)[3], one.weights):
            assert program.solve(start=start).utility == pytest.approx(one.utility, abs=2e-12 * program.size)


# ----------------------------------------------------------------------------------------------------------------------
# Where branch and bound is not needed


@pytest.mark.parametrize("constraint", [{}, {"min_weight": 0.1}, {"max_weight": 0.4}])
def test_a_positive_semidefinite_covariance_goes_the_usual_way(constraint):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        factor = rng.standard_normal((4, 6))
        arguments = rng.standard_normal(6), factor.T @ factor, 1.0
        usual = maximize_utility(*arguments, **constraint)
        exact = maximize_utility(*arguments, **constraint, indefinite="exact")
        assert_array_equal(exact.weights, usual.weights)
        assert (exact.indefinite, exact.method, exact.certificate) == ("no", usual.method, usual.certificate)


@pytest.mark.parametrize("c", [None, 0.1])
@pytest.mark.parametrize("d", [5, 40, 200])
def test_a_utility_that_is_concave_on_the_simplex_needs_no_tree(d, c):
    # A constant taken from all entries makes a covariance indefinite, but changes no decision.
    rng = np.random.default_rng(d)
    factor, slopes = rng.standard_normal((2 * d, d)), rng.standard_normal(d)
    covariance, mean = factor.T @ factor / (2 * d), 0.1 * rng.standard_normal(d)
    optimum = Indefinite(mean, covariance - 3.0, 0.5, c).solve()
    plain = maximize_utility(mean, covariance, 0.5, min_weight=c)
    assert plain.indefinite == "no"
    assert optimum.indefinite == "exact"
    assert optimum.method == plain.method
    if plain.certified:
        assert optimum.certified
        assert optimum.utility == pytest.approx(plain.utility + 1.5, abs=1e-11)
    # So does a_i + a_j added to every entry, which is a linear term.
    tilted = Indefinite(mean + slopes, covariance + np.add.outer(slopes, slopes), 0.5, c).solve()
    assert tilted.utility == pytest.approx(optimum.utility - 1.5, abs=1e-11)


def test_caps_are_obeyed_where_the_utility_is_concave():
    covariance = np.eye(4) - 2.0
    capped = maximize_utility([1, 0, 0, 0], covariance, 1.0, max_weight=0.3, indefinite="exact")
    plain = maximize_utility([1, 0, 0, 0], np.eye(4), 1.0, max_weight=0.3)
    np.testing.assert_allclose(capped.weights, plain.weights, atol=1e-14)
    assert capped.utility == pytest.approx(plain.utility + 2)
    assert capped.certified


def test_without_risk_the_first_best_option_wins():
    optimum = maximize_utility([1, 3, 2, 3], -np.eye(4), 0.0, indefinite="exact")
    assert optimum.weights.tolist() == [0, 1, 0, 0]
    assert optimum.utility == 3
    assert optimum.certified


def test_one_option_may_have_a_negative_variance():
    optimum = maximize_utility([1.0], [[-2.0]], 0.5, indefinite="exact")
    assert optimum.weights.tolist() == [1.0]
    assert optimum.utility == 2.0
    assert optimum.certified


# ----------------------------------------------------------------------------------------------------------------------
# Known answers and refusals


def test_a_saddle_is_left_for_the_better_corner():
    optimum = maximize_utility([0.0, 0.1], [[1.0, 3.0], [3.0, 1.0]], 1.0, indefinite="exact")
    assert optimum.weights.tolist() == [0.0, 1.0]
    assert optimum.utility == pytest.approx(-0.9, abs=1e-15)
    assert optimum.method == "branch and bound"
    assert optimum.indefinite == "exact"
    assert optimum.nodes >= 1


def test_negative_variances_are_refused_unless_exact():
    arguments = [1.0, 2.0], [[1.0, 0.0], [0.0, -2.0]], 1.0
    assert maximize_utility(*arguments, indefinite="exact").weights.tolist() == [0.0, 1.0]
    for other in ("raise", "project"):
        with pytest.raises(NotPositiveSemidefinite, match=r"option 1: variance -2\.0 is negative"):
            maximize_utility(*arguments, indefinite=other)


def test_caps_are_refused_where_the_utility_is_not_concave():
    with pytest.raises(Unsupported, match=r'max_weight together with indefinite="exact".*leave max_weight out, or'):
        maximize_utility([0, 1], [[1, 3], [3, 1]], 1.0, max_weight=0.7, indefinite="exact")
    free = maximize_utility([0, 1], [[1, 3], [3, 1]], 1.0, max_weight=1.0, indefinite="exact")
    assert free.weights.tolist() == [0.0, 1.0]


def test_refusals_name_the_offender():
    with pytest.raises(NotPositiveSemidefinite, match='indefinite="exact" takes it as it is'):
        maximize_utility([0, 1], [[1, 3], [3, 1]], 1.0)
    with pytest.raises(InvalidInput, match="""must be "raise", "project" or "exact", got 'exactly'"""):
        maximize_utility([0, 1], [[1, 3], [3, 1]], 1.0, indefinite="exactly")
    with pytest.raises(InvalidInput, match="covariance of option 0 and option 1 is nan"):
        maximize_utility([0, 1], [[1, np.nan], [np.nan, 1]], 1.0, indefinite="exact")
    with pytest.raises(InvalidInput, match="not symmetric"):
        maximize_utility([0, 1], [[1, 3], [2, 1]], 1.0, indefinite="exact")
    with pytest.raises(InvalidInput, match="overflow when squared; use larger units of reward"):
        maximize_utility([0, 1], [[1e200, 3e200], [3e200, 1e200]], 1.0, indefinite="exact")
    with pytest.raises(Unsupported, match=r"min_weight=0\.1 together with max_weight"):
        maximize_utility([0, 1], [[1, 3], [3, 1]], 1.0, 0.1, 0.7, indefinite="exact")


# ----------------------------------------------------------------------------------------------------------------------
# The proof alone


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("c", [None, 0.15])
def test_branch_and_bound_finds_the_best_without_the_search(family, c, monkeypatch):
    """Nothing that matters is excluded: from the worst single option the tree leads to the best weights."""

    def worst(theta, A, C, least, start):
        values = theta - C.diagonal()
        return np.eye(theta.size)[int(np.argmin(values))], float(values.min())

    monkeypatch.setattr(optimistic, "search", worst)
    for seed in range(25):
        rng = np.random.default_rng([seed, 4])
        d = int(rng.integers(2, 8 if c is None else 6))
        prove(Indefinite(*FAMILIES[family](rng, d), float(rng.choice([0.1, 1.0, 10.0])), c))
