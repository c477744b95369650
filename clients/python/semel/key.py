"""Keys: the names of intents."""

from __future__ import annotations

import re
import uuid
from typing import Dict

HEADER = "Idempotency-Key"

#: The longest key that servers have to accept, in characters.
MAX_KEY_LENGTH = 255

_printable = re.compile(r"[\x20-\x7e]{1,%d}" % MAX_KEY_LENGTH)
_quoted = re.compile(r'"((?:[^"\\]|\\["\\])*)"')


def new_key() -> str:
    """Mints a key: a version 4 UUID, 122 random bits."""
    return str(uuid.uuid4())


def quote_key(key: str) -> str:
    """Writes a key as the value of the Idempotency-Key header: a quoted string.

    Raises ValueError when the key is empty, too long, or has other characters than printable ASCII.
    """
    if not _printable.fullmatch(key):
        raise ValueError(f"a key has 1 to {MAX_KEY_LENGTH} characters of printable ASCII")
    return '"' + re.sub(r'(["\\])', r"\\\1", key) + '"'


def headers(key: str) -> Dict[str, str]:
    """Returns the headers of a request with this key; ValueError as in quote_key."""
    return {HEADER: quote_key(key)}


def key_in(value: str) -> str:
    """Reads the key of a header that the caller has set. The server judges values that are not keys: they are returned as they are."""
    quoted = _quoted.match(value.strip(" \t"))
    return re.sub(r"\\(.)", r"\1", quoted[1]) if quoted else value.strip(" \t")
