"""Studies: durable ask and tell, in a SQLite file or a PostgreSQL database.

================  ===================================================================================================
file              holds
================  ===================================================================================================
study             `Study`: what users call
ledger            ask, tell, amend and changes of configuration: one transaction each
transactions      the transactions of a study, what they write, and its learner in memory, which follows them
repository        every query and statement about studies, rounds, tells, changes and states
rows              the rows of these tables as frozen dataclasses
schema            the tables
migrations        the steps from stores of older versions to this one
store             `Store`: where the tables are; connections, transactions, versions, stopping long work
database_errors   errors of SQLite and PostgreSQL as `StoreUnavailable`
configuration     the learner's class and arguments, and the options; checks of names
packed_state      a learner's statistics as bytes
outcomes          what users tell as what is kept, and as what learners see
replay            the log told to a learner again: to rebuild its statistics, and to verify them
records           what users get: `Round`, `Change`, `StudySummary`, `Verification`
amounts           `allocate`: weights as amounts that sum exactly
summary           summaries of studies; `list_studies`
estimates         what was learned of the options, and the efficient frontier
risk_aversion     whether ρ lies in the range in which it matters
history           weights, rewards and risk over the told rounds
fork              what another learner would propose after the same history
export            the rounds as CSV, Parquet or JSON
tokens            who may use the service of a store
================  ===================================================================================================
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
