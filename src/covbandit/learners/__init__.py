"""Learners: one folder per kind of feedback, one file per algorithm.

=====================  ================================================================================
room                   what it holds
=====================  ================================================================================
``protocol/``          what every learner shares: base class, state, files, explanations
``full_information/``  learners that see every option's reward (feedback "all")
``semi_bandit/``       learners that see the rewards of the chosen options (feedback "chosen")
``full_bandit/``       learners that see one total per round (feedback "total")
``state.py``           deprecated: how learners of 0.1 laid out their state
=====================  ================================================================================

Families import from the protocol and from nothing of each other; the import contract checks that.
"""

import inspect

from covbandit.learners.full_bandit.gradient_ts.learner import GradientTS
from covbandit.learners.full_bandit.linear_fb import LinearFB
from covbandit.learners.full_bandit.mc_ete import MCETE
from covbandit.learners.full_bandit.ogd_ete import OGDETE
from covbandit.learners.full_information.fixed_weights import FixedWeights
from covbandit.learners.full_information.linear_fi import LinearFI
from covbandit.learners.full_information.mc_empirical import MCEmpirical
from covbandit.learners.full_information.ogd import OGD
from covbandit.learners.full_information.shrunk_empirical import ShrunkEmpirical
from covbandit.learners.protocol.base import Learner
from covbandit.learners.protocol.explanation import Estimates, Explanation
from covbandit.learners.protocol.serialization import load_learner
from covbandit.learners.semi_bandit.mc_ucb import MCUCB
from covbandit.learners.semi_bandit.mc_ucb_gamma import MCUCBGamma
from covbandit.learners.semi_bandit.ols_ucb_c import OLSUCBC
from covbandit.learners.semi_bandit.pair_ucb import PairUCB

__all__ = [
    "MCETE",
    "MCUCB",
    "OGD",
    "OGDETE",
    "OLSUCBC",
    "Estimates",
    "Explanation",
    "FixedWeights",
    "GradientTS",
    "Learner",
    "LinearFB",
    "LinearFI",
    "MCEmpirical",
    "MCUCBGamma",
    "PairUCB",
    "ShrunkEmpirical",
    "load_learner",
]


def learner_classes() -> dict[str, type[Learner]]:
    """Return the learners of this package, by name."""
    return {
        name: kind
        for name in sorted(__all__)
        if inspect.isclass(kind := globals()[name]) and issubclass(kind, Learner) and kind is not Learner
    }
