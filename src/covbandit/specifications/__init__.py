"""Simulations described in TOML files: checked as a whole, swept over lists, found again in a folder.

=========================  =====================================================================================
file                       what it holds
=========================  =====================================================================================
``specification.py``       `load`, `loads`, `example`; `Specification` and its simulations
``document.py``            the file as a whole: read, parsed, its outline checked
``toml_positions.py``      on which line each key stands
``diagnostics.py``         mistakes: collected, located, reported all at once
``problem_tables.py``      from the table ``[problem]`` to problems and their histories
``environment_tables.py``  from the table ``[environment]`` to environments
``learner_tables.py``      from the tables ``[[learners]]`` to learners
``sweep_tables.py``        what every table goes through: checked, its lists turned into all combinations of values
``factories.py``           the classes and functions that tables name, called with the tables' values
``signatures.py``          what a class or function can be given
``catalogue.py``           what can be named: presets, environments, what users wrote themselves
``sweep.py``               `Sweep`: what the simulations gave, as tables
``figure.py``              the same as small multiples
``example.toml``           a commented specification to start from
=========================  =====================================================================================
"""

from covbandit.learners import learner_classes
from covbandit.specifications.catalogue import environment_classes, presets
from covbandit.specifications.specification import Simulation, Specification, example, load, loads
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
