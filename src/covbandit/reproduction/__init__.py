"""The paper's experiments, repeated, with a verdict on each of its statements."""

from covbandit.reproduction.experiments import FULL, NORMAL, QUICK, Experiments, Scale, experiments_named
from covbandit.reproduction.run import Reproduction, claims_of

__all__ = ["FULL", "NORMAL", "QUICK", "Experiments", "Reproduction", "Scale", "claims_of", "experiments_named"]
