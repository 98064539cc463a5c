"""Where rewards come from. Each matches the problem's mean and covariance and differs in the shape of its tails."""

from covbandit.environments.base import Environment, Sampler
from covbandit.environments.noise import Bounded, Gaussian, Skewed, StudentT

__all__ = ["Bounded", "Environment", "Gaussian", "Sampler", "Skewed", "StudentT"]
