"""Simulation: learners against a known problem, with regret measured exactly.

====================  ==========================================================================================
file                  what it holds
====================  ==========================================================================================
``run.py``            `simulate`, the front door: replications with progress, Ctrl-C and resume
``plan.py``           `Plan`: everything that determines the numbers of a simulation, checked; versions of software
``engine.py``         one replication: draws rewards in chunks, lets every learner play the same ones
``driver.py``         the compiled loop of rounds: decide, pay, observe, absorb; `Record`, what is kept of it
``regret.py``         `Truth`, what regret is measured against, and the regret of one round
``workers.py``        who runs replications: threads, processes, a Dask cluster
``campaign.py``       several simulations whose results live in one folder
``journal.py``        finished replications on disk, appended one by one
``locking.py``        keeps two processes from writing the same file or folder
``result.py``         `SimulationResult`: regret and weights at checkpoints; reads and writes result files
``replay_result.py``  `ReplayResult`: what the replay of a history gave
``statistics.py``     confidence intervals, p-values, Holm's adjustment
``plotting.py``       figures of regret and of realised rewards
``period_axis.py``    an axis of rounds labelled by their dates
====================  ==========================================================================================
"""

from covbandit.simulation.replay_result import ReplayResult
from covbandit.simulation.result import SimulationResult
from covbandit.simulation.run import simulate
from covbandit.simulation.workers import dask_workers

__all__ = ["ReplayResult", "SimulationResult", "dask_workers", "simulate"]
