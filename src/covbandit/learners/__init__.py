"""Learners: one algorithm, one file."""

from covbandit.learners.base import Learner
from covbandit.learners.explanation import Estimates, Explanation
from covbandit.learners.files import load_learner
from covbandit.learners.fixed_weights import FixedWeights
from covbandit.learners.gradient_ts import GradientTS
from covbandit.learners.linear_fb import LinearFB
from covbandit.learners.linear_fi import LinearFI
from covbandit.learners.mc_empirical import MCEmpirical
from covbandit.learners.mc_ete import MCETE
from covbandit.learners.mc_ucb import MCUCB
from covbandit.learners.mc_ucb_gamma import MCUCBGamma
from covbandit.learners.ogd import OGD
from covbandit.learners.ogd_ete import OGDETE
from covbandit.learners.ols_ucb_c import OLSUCBC
from covbandit.learners.pair_ucb import PairUCB
from covbandit.learners.shrunk_empirical import ShrunkEmpirical

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
