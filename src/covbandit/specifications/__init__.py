"""Simulations described in TOML files: checked as a whole, swept over lists, found again in a folder."""

from covbandit.learners import learner_classes
from covbandit.specifications.catalogue import environment_classes, presets
from covbandit.specifications.example import example
from covbandit.specifications.specification import Simulation, Specification, load, loads
from covbandit.specifications.sweep import Sweep

__all__ = [
    "Simulation",
    "Specification",
    "Sweep",
    "environment_classes",
    "example",
    "learner_classes",
    "load",
    "loads",
    "presets",
]
