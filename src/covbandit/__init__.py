"""Online allocation over correlated options: learn the weights with the best trade-off of reward and covariance risk.

Names are resolved when they are first used, so that ``import covbandit`` costs next to nothing.

===================  =====================================================================================
room                 what it holds; a room imports only from rooms below it
===================  =====================================================================================
``cli/``             the command line
``service/``         the HTTP API, its client and the dashboard
``reproduction/``    the paper, figure by figure and claim by claim
``specifications/``  simulations from TOML files
``testing/``         the conformance suites that learners and stores inherit
``studies/``         durable ask and tell, in a database
``allocation.py``    `allocator`: names of options instead of arrays
``simulation/``      the engine and its results
``environments/``    where rewards come from
``learners/``        one folder per kind of feedback, one file per algorithm
``aggregate/``       means and covariance from totals of known mixes
``risk/``            how to choose ρ
``problems/``        the model, and ready-made problems (these stand above ``data/`` and ``theory/``)
``data/``            returns from files, frames and packages
``theory/``          the paper's bounds and radii as functions of an instance
``maximization/``    the exact optimum, with a certificate
``kernels/``         compiled numerics: arrays in, arrays out
``core/``            types, checks of input, files, tables, processes
``errors.py``        the exception tree
===================  =====================================================================================
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from covbandit._version import __version__

if TYPE_CHECKING:
    from covbandit import data as data
    from covbandit import environments as environments
    from covbandit import errors as errors
    from covbandit import problems as problems
    from covbandit import specifications as specifications
    from covbandit import studies as studies
    from covbandit import testing as testing
    from covbandit import theory as theory
    from covbandit.aggregate import AggregateMoments as AggregateMoments
    from covbandit.allocation import Allocator as Allocator
    from covbandit.allocation import allocator as allocator
    from covbandit.errors import CovbanditError as CovbanditError
    from covbandit.learners import MCETE as MCETE
    from covbandit.learners import MCUCB as MCUCB
    from covbandit.learners import OGD as OGD
    from covbandit.learners import OGDETE as OGDETE
    from covbandit.learners import OLSUCBC as OLSUCBC
    from covbandit.learners import Explanation as Explanation
    from covbandit.learners import FixedWeights as FixedWeights
    from covbandit.learners import GradientTS as GradientTS
    from covbandit.learners import Learner as Learner
    from covbandit.learners import LinearFB as LinearFB
    from covbandit.learners import LinearFI as LinearFI
    from covbandit.learners import MCEmpirical as MCEmpirical
    from covbandit.learners import MCUCBGamma as MCUCBGamma
    from covbandit.learners import PairUCB as PairUCB
    from covbandit.learners import ShrunkEmpirical as ShrunkEmpirical
    from covbandit.learners import load_learner as load_learner
    from covbandit.maximization import Optimum as Optimum
    from covbandit.maximization import maximize_optimistic as maximize_optimistic
    from covbandit.maximization import maximize_utility as maximize_utility
    from covbandit.problems.distribution import ProblemDistribution as ProblemDistribution
    from covbandit.problems.problem import Problem as Problem
    from covbandit.risk import RiskPath as RiskPath
    from covbandit.risk import choose_risk_aversion as choose_risk_aversion
    from covbandit.risk import risk_path as risk_path
    from covbandit.service.client import Client as Client
    from covbandit.simulation import ReplayResult as ReplayResult
    from covbandit.simulation import SimulationResult as SimulationResult
    from covbandit.simulation import dask_workers as dask_workers
    from covbandit.simulation import simulate as simulate
    from covbandit.studies import Round as Round
    from covbandit.studies import Study as Study

_ROOMS = {
    "data": None,
    "environments": None,
    "errors": None,
    "problems": None,
    "specifications": None,
    "studies": None,
    "testing": None,
    "theory": None,
    "AggregateMoments": "aggregate",
    "Allocator": "allocation",
    "allocator": "allocation",
    "CovbanditError": "errors",
    "Explanation": "learners",
    "FixedWeights": "learners",
    "Learner": "learners",
    "GradientTS": "learners",
    "LinearFB": "learners",
    "LinearFI": "learners",
    "MCETE": "learners",
    "MCEmpirical": "learners",
    "MCUCB": "learners",
    "MCUCBGamma": "learners",
    "OGD": "learners",
    "OGDETE": "learners",
    "OLSUCBC": "learners",
    "PairUCB": "learners",
    "ShrunkEmpirical": "learners",
    "load_learner": "learners",
    "Optimum": "maximization",
    "maximize_optimistic": "maximization",
    "maximize_utility": "maximization",
    "Problem": "problems.problem",
    "ProblemDistribution": "problems.distribution",
    "RiskPath": "risk",
    "choose_risk_aversion": "risk",
    "risk_path": "risk",
    "ReplayResult": "simulation",
    "SimulationResult": "simulation",
    "dask_workers": "simulation",
    "simulate": "simulation",
    "Client": "service.client",
    "Round": "studies",
    "Study": "studies",
}

__all__ = ["__version__", *_ROOMS]


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'covbandit' has no attribute {name!r}")
    room = _ROOMS[name]
    if room is None:
        return importlib.import_module(f"covbandit.{name}")
    value = getattr(importlib.import_module(f"covbandit.{room}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
