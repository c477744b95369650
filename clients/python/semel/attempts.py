"""The attempts of one request, without the sending of them."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Optional

from semel.errors import KeyReused, OutcomeUnknown
from semel.verdict import Headers, Verdict, judge

#: The longest answer that belongs to its attempt, in bytes: one that breaks off leads to another attempt. Longer answers and
#: streams are the caller's to read.
MAX_ANSWER_BYTES = 1 << 20

#: Why a problem document that is longer than MAX_ANSWER_BYTES, as it is or unpacked, is no answer.
ENDLESS = f"a problem document with more than {MAX_ANSWER_BYTES} bytes"


@dataclass(frozen=True)
class Retry:
    """How often and how long a request is tried."""

    #: The most attempts; 1 for no repetition.
    attempts: int = 5
    #: The last attempt begins within so many seconds of the first. How long one attempt takes is a matter of its transport.
    within: float = 60.0
    #: The pause before attempt n+1 is drawn from 0 to first_pause * 2**(n-1), at most longest_pause, in seconds. It is never
    #: shorter than the server's Retry-After.
    first_pause: float = 0.2
    longest_pause: float = 10.0
    #: The longest body that is read from an iterator or a file into memory, in bytes, so that it can be repeated.
    max_body: int = 1 << 20


class Attempts:
    """The attempts of one request, told one after the other how they ended. Not safe for concurrent use."""

    def __init__(self, key: str, retry: Retry) -> None:
        self._key, self._retry = key, retry
        self._begun = time.monotonic()
        self._made = 0
        self.reached = False  # an attempt may have reached the server

    def answered(self, status: int, headers: Headers, body: bytes) -> Optional[float]:
        """Returns None for an answer to give to the caller, else the seconds to wait before the next attempt.

        Raises KeyReused, and OutcomeUnknown when no attempt is left.
        """
        self._made += 1
        self.reached = True
        verdict = judge(status, headers, body)
        if verdict.kind == "mismatch":
            raise KeyReused(self._key, verdict)
        if verdict.definitive and verdict.kind != "unknown":
            return None
        if verdict.definitive:
            raise self._unknown(f"the server answered {status}", verdict)
        pause, end = self._pause(verdict.retry_after or 0.0)
        if end:
            raise self._unknown(f"the server answered {status}; {end}", verdict)
        return pause

    def failed(self, error: Exception, *, sent: bool, again: bool = True) -> float:
        """Returns the seconds to wait after an attempt without an answer.

        sent: some of the request may have reached the server. again: another attempt may succeed. When no attempt
        is left, raises OutcomeUnknown if any attempt may have reached the server, and error itself if none did.
        """
        self._made += 1
        self.reached = self.reached or sent
        pause, end = self._pause(0.0)
        if again and not end:
            return pause
        if self.reached:
            raise self._unknown(f"{type(error).__name__}; {end}" if end else type(error).__name__) from error
        raise error

    def broke_off(self, error: Exception) -> OutcomeUnknown:
        """Returns what to raise, from error, when an answer that was given to the caller breaks off."""
        return self._unknown(f"the answer broke off: {type(error).__name__}")

    def _pause(self, retry_after: float) -> tuple[float, str]:
        """Returns the pause before the next attempt, or why there is none."""
        if self._made >= self._retry.attempts:
            return 0.0, f"at most {self._retry.attempts} are made"
        longest = min(self._retry.longest_pause, self._retry.first_pause * 2 ** min(self._made - 1, 32))
        pause = max(retry_after, random.uniform(0.0, longest))
        if time.monotonic() - self._begun + pause > self._retry.within:
            return 0.0, f"the next would begin later than {self._retry.within:g} s after the first"
        return pause, ""

    def _unknown(self, reason: str, verdict: Optional[Verdict] = None) -> OutcomeUnknown:
        return OutcomeUnknown(self._key, self._made, reason, verdict)
