"""Where rewards come from: noise of a chosen shape with the problem's mean and covariance, or a history.

================  ============================================================================================
file              what it holds
================  ============================================================================================
``base.py``       `Environment` and `Sampler`, the protocol; the random generator of a replication
``noise.py``      independent rewards: `Gaussian`, `StudentT`, `Skewed`, `Bounded`
``histories.py``  rewards of a history: `Bootstrap` draws its rounds again, `Replay` plays them in order
================  ============================================================================================
"""

from covbandit.environments.base import Environment, Sampler
from covbandit.environments.histories import Bootstrap, Replay
from covbandit.environments.noise import Bounded, Gaussian, Skewed, StudentT

__all__ = ["Bootstrap", "Bounded", "Environment", "Gaussian", "Replay", "Sampler", "Skewed", "StudentT"]
