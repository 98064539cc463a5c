"""Who computes: threads, or a Dask cluster, as two options of a command say."""

from __future__ import annotations

from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext

from covbandit.core.validation import as_count
from covbandit.errors import InvalidInput
from covbandit.simulation import dask_workers


def crew(workers: int | None, dask: str | None) -> AbstractContextManager[int | Executor | None]:
    """Return what ``--workers`` and ``--dask`` mean; they exclude each other."""
    if workers is not None:
        as_count(workers, "workers", 1)
        if dask is not None:
            raise InvalidInput("--workers counts threads of this machine and --dask names a cluster: leave one out")
    return nullcontext(workers) if dask is None else dask_workers(dask)
