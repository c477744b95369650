"""Errors."""

from __future__ import annotations

from typing import Optional

from semel.verdict import Verdict


class SemelError(Exception):
    """The base of the errors of this package."""

    #: The key that every attempt carried.
    key: str

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


class OutcomeUnknown(SemelError):
    """It may have happened: an attempt may have reached the server, and no definitive answer came.

    The same request under the same key (semel.headers(error.key)) is safe, and finds out. The message does not show the key.
    """

    #: How many attempts were made.
    attempts: int
    #: The last answer, or None when the last attempt got none; then __cause__ is its error. If it is definitive, the server itself
    #: does not know the outcome, and an operator has to settle it.
    verdict: Optional[Verdict]

    def __init__(self, key: str, attempts: int, reason: str, verdict: Optional[Verdict] = None) -> None:
        said = verdict.problem.get("detail") if verdict and verdict.problem else None
        super().__init__(f"the outcome is unknown after {attempts} attempts ({reason})" + (f": {said}" if said else ""), key)
        self.attempts, self.verdict = attempts, verdict

    @property
    def retry_after(self) -> Optional[float]:
        """The seconds that the server asked to wait before another attempt, if it did."""
        return self.verdict.retry_after if self.verdict else None


class KeyReused(SemelError):
    """The key belongs to another request, and this one was not executed. It is a mistake of the program: one key, one wish."""

    verdict: Verdict

    def __init__(self, key: str, verdict: Verdict) -> None:
        super().__init__("the key was used for another request; nothing was done", key)
        self.verdict = verdict
