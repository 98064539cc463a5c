"""Simulation: learners against a known problem, with regret measured exactly."""

from covbandit.simulation.replay_result import ReplayResult
from covbandit.simulation.result import SimulationResult
from covbandit.simulation.run import simulate
from covbandit.simulation.workers import dask_workers

__all__ = ["ReplayResult", "SimulationResult", "dask_workers", "simulate"]
