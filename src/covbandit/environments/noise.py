"""Independent rewards with the problem's mean and covariance and a chosen shape of noise."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.environments.base import Environment, generator
from covbandit.errors import InvalidInput
from covbandit.kernels.jit.compilation import compiled
from covbandit.kernels.random.sampling import correlate, covariance_factor
from covbandit.problems.problem import Problem


class _Noise(Environment):
    """Rewards θ + A'z with A'A = Σ and standardised noise z."""

    @abstractmethod
    def _standard(self, n: int, k: int, main: np.random.Generator, side: np.random.Generator) -> F64:
        """Return n × k draws with mean 0 and covariance I.

        To give the same draws however they are split, each generator must be used row by row.
        """

    def sampler(self, problem: Problem, seed: int, replication: int) -> _NoiseSampler:
        """Return the stream of rewards for one replication."""
        return _NoiseSampler(self, problem, generator(seed, replication), generator(seed, replication, 1))


class _NoiseSampler:
    def __init__(self, noise: _Noise, problem: Problem, main: np.random.Generator, side: np.random.Generator) -> None:
        self._noise = noise
        self._main = main
        self._side = side
        self._mean = problem.mean.copy()
        self._factor = covariance_factor(problem.covariance)

    def draw(self, n: int) -> F64:
        draws = self._noise._standard(n, len(self._factor), self._main, self._side)
        rewards = np.empty((n, self._mean.size))
        compiled(correlate)(draws, self._mean, self._factor, rewards)
        return rewards


class Gaussian(_Noise):
    """Gaussian rewards, as in the paper's experiments. The default."""

    def _standard(self, n: int, k: int, main: np.random.Generator, side: np.random.Generator) -> F64:
        return main.standard_normal((n, k))


class StudentT(_Noise):
    """Multivariate Student-t rewards: heavy tails, all options at once.

    Parameters
    ----------
    df : float
        Degrees of freedom, above 2 so that a covariance exists. The covariance is the problem's.
    """

    def __init__(self, df: float = 5.0) -> None:
        self.df = validation.as_float(df, "df")
        if not self.df > 2:
            raise InvalidInput(f"df must be above 2, or there is no covariance to match; got {df}")

    def _standard(self, n: int, k: int, main: np.random.Generator, side: np.random.Generator) -> F64:
        scale = np.sqrt((self.df - 2) / side.chisquare(self.df, size=(n, 1)))
        return np.ascontiguousarray(main.standard_normal((n, k)) * scale)


class Skewed(_Noise):
    """Skewed rewards, built from independent centred gamma variables: rare large gains, or rare large losses.

    Parameters
    ----------
    skewness : float
        Of the building blocks; positive for rare gains, negative for rare losses, not 0.
    """

    def __init__(self, skewness: float = -2.0) -> None:
        self.skewness = validation.as_float(skewness, "skewness")
        if self.skewness == 0:
            raise InvalidInput("skewness must not be 0; use Gaussian for symmetric noise")

    def _standard(self, n: int, k: int, main: np.random.Generator, side: np.random.Generator) -> F64:
        shape = 4 / self.skewness**2
        draws = main.standard_gamma(shape, size=(n, k))
        return np.asarray(np.sign(self.skewness) * (draws - shape) / np.sqrt(shape))


class Bounded(_Noise):
    """Bounded rewards, built from independent uniform variables."""

    def _standard(self, n: int, k: int, main: np.random.Generator, side: np.random.Generator) -> F64:
        return np.asarray(np.sqrt(12.0) * (main.random((n, k)) - 0.5))
