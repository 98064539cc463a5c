"""What holds for the whole suite: one Hypothesis profile, and helpers whose assertions show their values."""

import pytest
from hypothesis import settings

# Every run draws the same examples.
settings.register_profile("covbandit", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("covbandit")

# pytest does so by itself for test modules only.
pytest.register_assert_rewrite("decision_set", "optimistic_checks", "quadratic_programs", "reference_figures")
