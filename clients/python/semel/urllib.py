"""urlopen of the standard library, for requests that must happen once."""

from __future__ import annotations

import http.client
import io
import ssl
import time
import urllib.request
import urllib.response
from typing import Any, Optional, Union, cast
from urllib.error import HTTPError

from semel.attempts import MAX_ANSWER_BYTES, Attempts, Retry
from semel.key import HEADER, key_in, new_key, quote_key
from semel.verdict import is_problem


def urlopen(
    url: Union[str, urllib.request.Request],
    data: Optional[bytes] = None,
    timeout: float = 30.0,
    *,
    context: Optional[ssl.SSLContext] = None,
    retry: Retry = Retry(),
) -> Any:
    """Sends a request under one key, until there is a definitive answer, which it returns as urllib.request.urlopen does.

    The key is the request's Idempotency-Key header (semel.headers), else a fresh one. It stays in the Request: sending the same
    object again is the same intent. timeout bounds each wait of one attempt for the network, in seconds. Redirects are answers
    and are not followed; HTTPError is raised for 400 and above. The body has to be bytes, because it is sent more than once.

    Raises OutcomeUnknown, KeyReused, and URLError when no attempt has sent anything.
    """
    request = url if isinstance(url, urllib.request.Request) else urllib.request.Request(url, data)
    if data is not None:
        request.data = data
    if not isinstance(request.data, (bytes, bytearray, type(None))):
        raise TypeError("nothing was sent: the body has to be bytes, so that it can be sent again")
    given = request.get_header(HEADER.capitalize())
    key = new_key() if given is None else key_in(given)
    if given is None:
        request.add_unredirected_header(HEADER, quote_key(key))
    attempts = Attempts(key, retry)
    while True:
        trail = _Trail()
        try:
            answer = _attempt(_opener(context, trail), request, timeout)
        except (OSError, http.client.HTTPException) as error:
            pause = attempts.failed(error, sent=trail.connected, again=trail.tried and not trail.untrusted)
        else:
            try:
                wait = attempts.answered(answer.status, answer.headers, _problem(answer))
            except BaseException:
                answer.close()
                raise
            if wait is None:
                return _returned(answer, request.full_url)
            answer.close()
            pause = wait
        time.sleep(pause)


class _Trail:
    """How far an attempt came."""

    tried = False  # a connection was begun
    connected = False  # there was a connection to send on
    untrusted = False  # the server's certificate was refused


class _HTTPConnection(http.client.HTTPConnection):
    def __init__(self, host: str, *, trail: _Trail, **options: Any) -> None:
        super().__init__(host, **options)
        self._trail = trail

    def connect(self) -> None:
        self._trail.tried = True
        super().connect()
        self._trail.connected = True


class _HTTPSConnection(http.client.HTTPSConnection):
    def __init__(self, host: str, *, trail: _Trail, **options: Any) -> None:
        super().__init__(host, **options)
        self._trail = trail

    def connect(self) -> None:
        self._trail.tried = True
        try:
            super().connect()
        except ssl.SSLCertVerificationError:
            self._trail.untrusted = True
            raise
        self._trail.connected = True


class _Handler(urllib.request.AbstractHTTPHandler):
    """Makes connections that leave a trail."""

    def __init__(self, context: Optional[ssl.SSLContext], trail: _Trail) -> None:
        super().__init__()
        self._context, self._trail = context, trail

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(cast(Any, _HTTPConnection), request, trail=self._trail)

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(cast(Any, _HTTPSConnection), request, trail=self._trail, context=self._context)

    http_request = https_request = urllib.request.AbstractHTTPHandler.do_request_


def _opener(context: Optional[ssl.SSLContext], trail: _Trail) -> urllib.request.OpenerDirector:
    """Returns an opener that follows no redirects, raises for no status, and uses the proxies of the environment."""
    opener = urllib.request.OpenerDirector()
    for handler in (urllib.request.ProxyHandler(), _Handler(context, trail), urllib.request.UnknownHandler()):
        opener.add_handler(handler)
    return opener


def _attempt(opener: urllib.request.OpenerDirector, request: urllib.request.Request, timeout: float) -> Any:
    """Sends once. The answer is in memory, unless it is longer than MAX_ANSWER_BYTES or of unknown length."""
    response = opener.open(request, timeout=timeout)
    length, problem = response.length, is_problem(response.headers)
    if length is None and not problem or (length or 0) > MAX_ANSWER_BYTES:
        return response
    with response:
        body = response.read() if length is not None else response.read(MAX_ANSWER_BYTES + 1)
    if len(body) > MAX_ANSWER_BYTES:
        raise http.client.HTTPException("a problem document without an end")
    answer: Any = urllib.response.addinfourl(io.BytesIO(body), response.headers, request.full_url, response.status)
    answer.msg = response.reason
    return answer


def _problem(answer: Any) -> bytes:
    if not is_problem(answer.headers) or not isinstance(answer, urllib.response.addinfourl):
        return b""
    body: bytes = answer.read()
    answer.seek(0)
    return body


def _returned(answer: Any, url: str) -> Any:
    if answer.status >= 400:
        raise HTTPError(url, answer.status, answer.msg, answer.headers, answer)
    return answer
