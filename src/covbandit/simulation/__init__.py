"""Simulation: learners against a known problem, with regret measured exactly."""

from covbandit.simulation.result import SimulationResult
from covbandit.simulation.run import simulate

__all__ = ["SimulationResult", "simulate"]
