"""What an answer says about its request."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Dict, Optional, Protocol

#: A problem document (RFC 9457).
Problem = Dict[str, Any]

#: The largest problem document that is read, in bytes; a longer one is judged by its status.
MAX_PROBLEM_BYTES = 65536

_PREFIX = "urn:semel:problem:"
_DAY = 86400.0

# Problems that are not what their status alone says: the kind, and whether it is definitive.
_KINDS = {
    "in-flight": ("in-flight", False),
    "key-reused": ("mismatch", True),
    "outcome-unknown": ("unknown", True),
    "response-not-kept": ("not-kept", True),
    "response-unreadable": ("not-kept", True),
    "cancelled": ("cancelled", True),
    "duplicate": ("duplicate", True),
    "commit-unknown": ("unavailable", False),
}

_STREAMS = ("text/event-stream", "application/x-ndjson", "multipart/x-mixed-replace", "application/grpc")


class Headers(Protocol):
    """Headers whose names are found in upper and lower case, as those of httpx and http.client are."""

    def get(self, name: str, default: Any = None) -> Any: ...


@dataclass(frozen=True)
class Verdict:
    """A judged answer."""

    #: done: it happened, now or by an earlier attempt. rejected: refused, and a repetition changes nothing. in-flight: an earlier
    #: attempt is still running. mismatch: the key belongs to another request. unknown: it may have happened. cancelled: it will not
    #: happen under this key. not-kept: it happened, and its answer was not kept. duplicate: it happened before, on a route that
    #: keeps no answers. unavailable: not now.
    kind: str
    #: The same request under the same key brings nothing new.
    definitive: bool
    #: This is the answer of an earlier attempt.
    replayed: bool
    #: The seconds to wait before the next attempt, if the server says so; at most a day.
    retry_after: Optional[float]
    #: The problem document, if there is one.
    problem: Optional[Problem]


def judge(status: int, headers: Headers, body: bytes = b"") -> Verdict:
    """Judges an answer by its status, headers and, if it is a problem document, body (decompressed)."""
    problem = _problem(headers, body)
    again = replayed(headers)
    kind, definitive = _by_problem(problem) or _by_status(status, again)
    if kind == "unknown" and problem and problem.get("retryable") is True:
        definitive = False  # the server will find out
    return Verdict(kind, definitive, again, _retry_after(headers), problem)


def replayed(headers: Headers) -> bool:
    """Reports whether an answer with these headers is that of an earlier attempt."""
    return bool(headers.get("Idempotent-Replayed") == "true" or headers.get("Idempotency-Status") == "replayed")


def is_problem(headers: Headers) -> bool:
    """Reports whether these headers announce a problem document."""
    return re.match(r"application/problem\+json\b", headers.get("Content-Type") or "", re.IGNORECASE) is not None


def is_stream(headers: Headers) -> bool:
    """Reports whether these headers announce an answer that only makes sense piece by piece."""
    media = (headers.get("Content-Type") or "").partition(";")[0].strip().lower()
    return media in _STREAMS or media.startswith(("application/grpc+", "application/grpc-web"))


def _problem(headers: Headers, body: bytes) -> Optional[Problem]:
    if not is_problem(headers) or len(body) > MAX_PROBLEM_BYTES:
        return None
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _by_problem(problem: Optional[Problem]) -> Optional[tuple[str, bool]]:
    name = problem.get("type") if problem else None
    if not isinstance(name, str) or not name.startswith(_PREFIX):
        return None
    return _KINDS.get(name[len(_PREFIX) :])


def _by_status(status: int, again: bool) -> tuple[str, bool]:
    # Every repetition brings the failure that was recorded for its key.
    if not again and (status >= 500 or status in (408, 421, 425, 429)):
        return "unavailable", False
    return ("rejected" if status >= 400 else "done"), True


def _retry_after(headers: Headers) -> Optional[float]:
    """Reads seconds, or a date, which is compared with the server's own Date where there is one."""
    text = (headers.get("Retry-After") or "").strip()
    if re.fullmatch(r"[0-9]+", text):
        return min(float(text), _DAY)
    at = _date(text)
    if at is None:
        return None
    now = _date(headers.get("Date") or "")
    return min(max(0.0, at - (time.time() if now is None else now)), _DAY)


def _date(text: str) -> Optional[float]:
    try:
        return parsedate_to_datetime(text).timestamp() if re.match("[A-Z][a-z]{2}", text) else None
    except (TypeError, ValueError, OverflowError):
        return None
