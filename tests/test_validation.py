"""Checks at the boundary that the tests of the maximiser and of problems do not reach."""

from __future__ import annotations

import numpy as np
import pytest

from covbandit.core import validation
from covbandit.errors import InvalidInput, NotPositiveSemidefinite, Unsupported

NAMES = ("tea", "coffee")


def test_rewards_are_copied():
    rewards = np.array([1.0, -2.0])
    checked = validation.as_rewards(rewards, 2)
    assert checked.tolist() == [1.0, -2.0]
    assert not np.shares_memory(checked, rewards)


@pytest.mark.parametrize("largest", [1e100, -1e100])
def test_rewards_up_to_the_limit_are_taken(largest):
    assert validation.as_rewards([0.0, largest], 2).tolist() == [0.0, largest]


@pytest.mark.parametrize(
    ("rewards", "options", "message"),
    [
        ([1, float("nan")], None, r"option 1: reward is nan, which is not finite"),
        ([float("-inf"), 1], NAMES, r"option 'tea' \(index 0\): reward is -inf, which is not finite"),
        ([1, -2e100], NAMES, r"option 'coffee' \(index 1\): reward -2e\+100 is beyond ±1e\+100; use larger units"),
        ([1, 2, 3], None, r"reward must have 2 entries, one per option, got 3"),
        (1.0, None, r"reward must have 1 dimension\(s\), got an array of shape \(\)"),
        (["x", "y"], None, r"reward must be numeric, got list"),
    ],
)
def test_rewards_are_refused(rewards, options, message):
    with pytest.raises(InvalidInput, match=message):
        validation.as_rewards(rewards, 2, options)


@pytest.mark.parametrize("total", [1 - 0.9e-9, 1.0, 1 + 0.9e-9])
def test_weights_may_sum_to_one_within_the_tolerance(total):
    np.testing.assert_array_equal(validation.as_weights([0.5, total - 0.5], 2), [0.5, total - 0.5])


@pytest.mark.parametrize("total", [1 - 1.1e-9, 1 + 1.1e-9])
def test_weights_beyond_the_tolerance_are_refused(total):
    with pytest.raises(InvalidInput, match=r"not to one within 1e-09"):
        validation.as_weights([0.5, total - 0.5], 2)


def test_asymmetry_of_rounding_is_averaged_away():
    matrix = [[1.0, 0.5 + 4e-13], [0.5, 1.0]]
    checked = validation.as_symmetric(matrix, "covariance", 2)
    assert checked[0, 1] == checked[1, 0] == pytest.approx(0.5 + 2e-13, abs=1e-15)
    with pytest.raises(InvalidInput, match="not symmetric"):
        validation.as_symmetric([[1.0, 0.5 + 2e-12], [0.5, 1.0]], "covariance", 2)


@pytest.mark.parametrize("size", [1e-200, 1e-12, 1.0, 1e12])
def test_positive_semidefinite_does_not_depend_on_units(size):
    for d in (1, 2, 5, 40):
        samples = np.random.default_rng(d).standard_normal((max(d // 2, 1), d)) * np.sqrt(size)
        singular = samples.T @ samples
        assert validation.is_positive_semidefinite((singular + singular.T) / 2)
    assert validation.is_positive_semidefinite(np.zeros((3, 3)))
    assert validation.is_positive_semidefinite(size * np.ones((3, 3)))
    assert not validation.is_positive_semidefinite(size * np.array([[1.0, 1.001], [1.001, 1.0]]))
    assert not validation.is_positive_semidefinite(size * np.diag([1.0, -1e-9]))


def test_positive_semidefinite_leaves_its_argument():
    matrix = np.array([[1.0, 0.5], [0.5, 1.0]])
    assert validation.is_positive_semidefinite(matrix)
    assert matrix.tolist() == [[1.0, 0.5], [0.5, 1.0]]


def test_the_refusal_gives_the_smallest_eigenvalue_and_the_way_out():
    matrix = np.array([[1.0, 3.0], [3.0, 1.0]])
    with pytest.raises(NotPositiveSemidefinite, match=r"^Γ is not positive semi-definite: .* is -2; try another$"):
        validation.require_positive_semidefinite(matrix, "Γ", "; try another")


def test_counts():
    assert validation.as_count(np.int32(3), "rounds") == 3
    for value, message in ((-1, "at least 0, got -1"), (1.0, "whole number, got 1.0"), (False, "whole number")):
        with pytest.raises(InvalidInput, match=f"rounds must be .*{message}"):
            validation.as_count(value, "rounds")


MASKED = np.ma.masked_array([1.0, 2.0], mask=[False, True])


@pytest.mark.parametrize("entries", [MASKED, MASKED.astype(int), [1.0, np.ma.masked], (1.0, MASKED[1])])
def test_masked_entries_are_refused(entries):
    with pytest.raises(InvalidInput, match="mean: some entries are masked, that is missing; leave them out"):
        validation.as_vector(entries, "mean")
    for rows in ([entries, [1.0, 2.0]], [[1.0, 2.0], entries]):
        with pytest.raises(InvalidInput, match="covariance: some entries are masked"):
            validation.as_symmetric(rows, "covariance", 2)


def test_masks_that_hide_nothing_are_no_matter():
    assert validation.as_vector(np.ma.masked_array([1.0, 2.0]), "mean").tolist() == [1.0, 2.0]
    assert validation.as_vector(np.ma.masked_array([1.0, 2.0], mask=[0, 0]), "mean").tolist() == [1.0, 2.0]


def test_a_masked_number_is_refused():
    with pytest.raises(InvalidInput, match="rate must be a number, got a masked one, which is missing"):
        validation.as_float(np.ma.masked, "rate")


@pytest.mark.parametrize("truth", [True, False, np.True_, np.array(True)])
@pytest.mark.parametrize(
    "check",
    [
        lambda truth: validation.as_positive(truth, "x"),
        lambda truth: validation.as_not_negative(truth, "x"),
        lambda truth: validation.as_share(truth, "x"),
        lambda truth: validation.as_risk_aversion(truth),
        lambda truth: validation.as_min_weight(truth),
        lambda truth: validation.as_caps(truth, 2),
    ],
)
def test_truth_values_are_no_settings(check, truth):
    with pytest.raises(InvalidInput, match="must be a number, got the truth value"):
        check(truth)


def test_truth_values_are_no_means_or_covariances():
    for truths in ([True, False], np.array([True, False])):
        with pytest.raises(InvalidInput, match="mean must be numeric"):
            validation.as_vector(truths, "mean")
    with pytest.raises(InvalidInput, match="covariance must be numeric"):
        validation.as_symmetric(np.eye(2, dtype=bool), "covariance", 2)


def test_yes_and_no_are_outcomes():
    assert validation.as_rewards([True, False], 2).tolist() == [1.0, 0.0]
    assert validation.as_float(np.True_, "observation") == 1.0


def test_option_names():
    assert validation.as_options(None, 3) is None
    assert validation.as_options(["tea", "coffee"], None) == NAMES
    assert validation.label(1) == "option 1"
    assert validation.label(1, NAMES) == "option 'coffee' (index 1)"


@pytest.mark.parametrize("least", [1e-300, 0.1, 1 / 3, 0.5, 0.51, 1, np.float32(0.25)])
def test_min_weight(least):
    checked = validation.as_min_weight(least)
    assert checked == float(least)
    assert type(checked) is float
    assert validation.as_min_weight(None) is None
    assert validation.as_min_weight(None, max_weight=0.3) is None


@pytest.mark.parametrize(
    ("least", "message"),
    [
        (0, r"above 0 and at most 1, got 0\.0: every weight is 0 or at least min_weight \(None allows all weights\)"),
        (-0.1, r"above 0 and at most 1, got -0\.1"),
        (1.5, r"above 0 and at most 1, got 1\.5"),
        (1 + 1e-15, r"above 0 and at most 1, got 1\.00000"),
        (float("nan"), r"finite, got nan"),
        (float("inf"), r"finite, got inf"),
        ("x", r"a number, got 'x'"),
        ([0.1, 0.2], r"a number, got \[0\.1, 0\.2\]"),
    ],
)
def test_min_weight_is_refused(least, message):
    with pytest.raises(InvalidInput, match=f"min_weight must be {message}"):
        validation.as_min_weight(least)


def test_min_weight_with_max_weight_is_refused():
    for caps in (0.5, 1.0, [0.5, 0.6], {"tea": 0.5}):
        with pytest.raises(
            Unsupported, match=r"min_weight=0\.1 together with max_weight=.* is not supported; leave one"
        ):
            validation.as_min_weight(0.1, caps)


def test_weights_must_be_zero_or_at_least_min_weight():
    for weights in ([0, 1], [0.25, 0.75], [0.25 - 0.9e-9, 0.75 + 0.9e-9], [0.5, 0.5]):
        validation.require_min_weight(np.array(weights, dtype=float), 0.25)
    for weights in ([0.25 - 1.1e-9, 0.75 + 1.1e-9], [1e-12, 1 - 1e-12]):
        with pytest.raises(InvalidInput, match=r"option 'tea' \(index 0\): weight .* between 0 and min_weight 0\.25"):
            validation.require_min_weight(np.array(weights), 0.25, NAMES)


def test_matrices_of_either_sign():
    matrix = [[-1.0, 2.0], [2.0, 0.0]]
    assert validation.as_symmetric(matrix, "bonus", 2, signed=True).tolist() == matrix
    with pytest.raises(NotPositiveSemidefinite, match=r"option 0: variance -1\.0 is negative"):
        validation.as_symmetric(matrix, "covariance", 2)


def test_names_are_looked_up_in_time_that_is_linear(monkeypatch):
    """Whoever may tell can send a hundred thousand names to a study of a thousand options, which others wait for."""
    compared = []
    in_one_spelling = validation.in_one_spelling
    monkeypatch.setattr(validation, "in_one_spelling", lambda name: compared.append(name) or in_one_spelling(name))
    options = [f"option {k}" for k in range(300)]
    given = [(f"other {k}", 0.0) for k in range(2_000)]
    with pytest.raises(InvalidInput, match=r"weight: unknown option 'other 0', .* 'other 1999'; known are 'option 0'"):
        validation.by_known_name([*given, ("option 7", 1.0)], options, "weight")
    assert len(compared) == len(options) + len(given)


def test_numbers_are_no_names():
    with pytest.raises(InvalidInput, match=r"weight: unknown option 1; known are '1', '2'"):
        validation.by_known_name([(1, 0.5), ("2", 0.5)], ("1", "2"), "weight")
