"""Where rewards come from: noise of a chosen shape with the problem's mean and covariance, or a history."""

from covbandit.environments.base import Environment, Sampler
from covbandit.environments.bootstrap import Bootstrap
from covbandit.environments.noise import Bounded, Gaussian, Skewed, StudentT
from covbandit.environments.replay import Replay

__all__ = ["Bootstrap", "Bounded", "Environment", "Gaussian", "Replay", "Sampler", "Skewed", "StudentT"]
