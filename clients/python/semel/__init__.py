"""Makes an HTTP request safe to send twice.

A request that must happen once gets a key, which names its intent. Every attempt carries the same key, so a server that knows
keys executes the request once and gives each attempt the first answer. This package mints and keeps the key, decides which
answers and errors lead to another attempt, and says so when the outcome is unknown.

semel.urllib sends with the standard library; semel.httpx has clients that take the place of those of httpx.
"""

from semel.attempts import Retry
from semel.errors import KeyReused, OutcomeUnknown, SemelError
from semel.key import MAX_KEY_LENGTH, headers, new_key, quote_key
from semel.verdict import Problem, Verdict, judge, replayed

__all__ = [
    "MAX_KEY_LENGTH",
    "KeyReused",
    "OutcomeUnknown",
    "Problem",
    "Retry",
    "SemelError",
    "Verdict",
    "headers",
    "judge",
    "new_key",
    "quote_key",
    "replayed",
]
