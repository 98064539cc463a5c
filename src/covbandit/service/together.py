"""Tells of one study that wait at the same time are told together: one transaction instead of many."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from covbandit.errors import CovbanditError, StoreUnavailable
from covbandit.studies import Round, Study

Entry = tuple[int, Any, Any]
"""A round's number, its outcome, and the weights really played or None."""


class Ticket:
    """A tell that waits.

    Attributes
    ----------
    study : str
        The study's name.
    entry : tuple
        What is told.
    answer : Future
        The round as it is then, or why it was refused.
    """

    def __init__(self, study: str, entry: Entry) -> None:
        self.study = study
        self.entry = entry
        self.answer: Future[Round] = Future()


class TellsTogether:
    """The tells that wait, by study.

    Whoever's turn it is tells all that wait for the same study, so those whose turn comes later find theirs done. What
    one does wrong is not the others' business: if the whole is refused, each is told by itself.

    Parameters
    ----------
    find : callable
        Returns the study of a name.
    """

    def __init__(self, find: Callable[[str], Study]) -> None:
        self._find = find
        self._lock = threading.Lock()
        self._waiting: dict[str, list[Ticket]] = {}

    def queue(self, study: str, entry: Entry) -> Ticket:
        """Let a tell wait for its turn."""
        ticket = Ticket(study, entry)
        with self._lock:
            self._waiting.setdefault(study, []).append(ticket)
        return ticket

    def serve(self, ticket: Ticket) -> Round:
        """Tell all that wait for the same study, unless that was done; return the round of this ticket.

        Raises
        ------
        CovbanditError
            Why this tell was refused.
        """
        with self._lock:
            waiting = self._waiting.pop(ticket.study, [])
        if waiting:
            self._tell(waiting)
        return ticket.answer.result()

    def _tell(self, waiting: list[Ticket]) -> None:
        try:
            study = self._find(waiting[0].study)
            if len(waiting) > 1:
                told = study.tell_many([ticket.entry for ticket in waiting])
                for ticket, found in zip(waiting, told, strict=True):
                    ticket.answer.set_result(found)
                return
        except StoreUnavailable as error:
            _refuse(waiting, error)
            return
        except CovbanditError:
            pass  # whose fault it is shows when each is told by itself
        except BaseException as error:
            _refuse(waiting, error)
            raise
        for ticket in waiting:
            try:
                ticket.answer.set_result(self._find(ticket.study).tell(*ticket.entry))
            except BaseException as error:
                ticket.answer.set_exception(error)


def _refuse(waiting: list[Ticket], error: BaseException) -> None:
    for ticket in waiting:
        ticket.answer.set_exception(error)
