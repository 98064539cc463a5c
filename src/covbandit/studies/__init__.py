"""Studies: durable ask and tell, in a SQLite file or a PostgreSQL database.

======================  ==============================================================================================
file                    what it holds
======================  ==============================================================================================
``study.py``            `Study`: what users call
``ledger.py``           ask, tell, amend and changes of configuration: one transaction each
``transactions.py``     the transactions of a study, what they write, and its learner in memory, which follows them
``repository.py``       queries on studies, rounds, tells, changes and states, and most statements that write them
``rows.py``             the rows of these tables as frozen dataclasses
``schema.py``           the tables
``migrations/``         the steps from stores of older versions to this one
``store.py``            `Store`: where the tables are; connections, transactions, versions, stopping long work
``database_errors.py``  errors of SQLite and PostgreSQL as `StoreUnavailable`
``configuration.py``    the learner's class and arguments, and the options; checks of names
``packed_state.py``     a learner's statistics as bytes
``outcomes.py``         what users tell as what is kept, and as what learners see
``replay.py``           the log told to a learner again: to rebuild its statistics, and to verify them
``records.py``          what users get: `Round`, `Change`, `StudySummary`, `Verification`
``amounts.py``          `allocate`: weights as amounts that sum exactly
``summary.py``          summaries of studies; `list_studies`
``estimates.py``        what was learned of the options, and the efficient frontier
``risk_aversion.py``    whether ρ lies in the range in which it matters
``history.py``          weights, rewards and risk over the told rounds
``fork.py``             what another learner would propose after the same history
``export.py``           the rounds as CSV, Parquet or JSON
``tokens.py``           who may use the service of a store
======================  ==============================================================================================
"""

from covbandit.studies.amounts import allocate
from covbandit.studies.estimates import Frontier, StudyEstimates
from covbandit.studies.fork import Fork
from covbandit.studies.history import History
from covbandit.studies.records import Change, Round, StudySummary, Verification
from covbandit.studies.risk_aversion import RiskAversionCheck
from covbandit.studies.store import DEFAULT_STORE, Store
from covbandit.studies.study import Study
from covbandit.studies.summary import list_studies

__all__ = [
    "DEFAULT_STORE",
    "Change",
    "Fork",
    "Frontier",
    "History",
    "RiskAversionCheck",
    "Round",
    "Store",
    "Study",
    "StudyEstimates",
    "StudySummary",
    "Verification",
    "allocate",
    "list_studies",
]
