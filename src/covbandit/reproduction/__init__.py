"""The paper's experiments, repeated, with a verdict on each of its statements.

=======================  ==================================================================================
file                     what it holds
=======================  ==================================================================================
``run.py``               `Reproduction`: runs what is missing, writes report, verdicts and figures
``experiments.py``       all that is run: panels, sweeps, hard instances; how long and how often (`Scale`)
``panels.py``            the panels of the paper's figure: instances and learners
``known_covariance.py``  a learner that knows the covariance, for comparison
``claims/``              the statements of the paper and our own, and how results decide them
``report.py``            `Report`: what a report says, as data
``report_formats.py``    the report as one HTML page and as Markdown
``figures.py``           the figures of panels and sweeps
``templates/``           the HTML page's template
=======================  ==================================================================================
"""

from covbandit.reproduction.experiments import FULL, NORMAL, QUICK, Experiments, Scale, experiments_named
from covbandit.reproduction.run import Reproduction, claims_of

__all__ = ["FULL", "NORMAL", "QUICK", "Experiments", "Reproduction", "Scale", "claims_of", "experiments_named"]
