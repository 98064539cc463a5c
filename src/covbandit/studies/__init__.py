"""Studies: durable ask and tell, in a SQLite file or a PostgreSQL database."""

from covbandit.studies.allocate import allocate
from covbandit.studies.beliefs import Frontier, StudyEstimates
from covbandit.studies.forking import Fork
from covbandit.studies.glance import list_studies
from covbandit.studies.history import History
from covbandit.studies.records import Change, Round, StudySummary, Verification
from covbandit.studies.risk_aversion import RiskAversionCheck
from covbandit.studies.store import DEFAULT_STORE, Store
from covbandit.studies.study import Study

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
