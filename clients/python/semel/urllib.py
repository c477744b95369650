"""urlopen of the standard library, for requests that must happen once."""

from __future__ import annotations

import copy
import http.client
import io
import ssl
import time
import urllib.request
import urllib.response
from typing import Any, Optional, Union, cast
from urllib.error import HTTPError

from semel.attempts import ENDLESS, MAX_ANSWER_BYTES, Attempts, Retry
from semel.key import HEADER, key_in, new_key, quote_key
from semel.verdict import is_problem, is_stream


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
            answer = _attempt(_opener(context, trail), _once(request), timeout, attempts)
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


class _Lines:
    """What http.client reads the header of an answer from. It keeps the last line: http.client itself takes a header that is cut
    for a whole one."""

    last = b""

    def __init__(self, file: Any) -> None:
        self.file = file

    def readline(self, most: int) -> bytes:
        self.last = self.file.readline(most)
        return self.last

    def close(self) -> None:
        self.file.close()


class _Response(http.client.HTTPResponse):
    def begin(self) -> None:
        file = self.fp
        lines = _Lines(file)
        self.fp = cast(Any, lines)
        try:
            super().begin()
        finally:
            if self.fp is not None:  # begin closes what it does not understand
                self.fp = file
        if not lines.last:
            raise http.client.IncompleteRead(b"")


class _HTTPConnection(http.client.HTTPConnection):
    response_class = _Response

    def __init__(self, host: str, *, trail: _Trail, **options: Any) -> None:
        super().__init__(host, **options)
        self._trail = trail

    def connect(self) -> None:
        self._trail.tried = True
        super().connect()
        self._trail.connected = True


class _HTTPSConnection(http.client.HTTPSConnection):
    response_class = _Response

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


def _once(request: urllib.request.Request) -> urllib.request.Request:
    """Returns the request for one attempt: urllib turns one that a proxy carries into a request to the proxy."""
    request = copy.copy(request)
    request.headers, request.unredirected_hdrs = dict(request.headers), dict(request.unredirected_hdrs)
    return request


def _opener(context: Optional[ssl.SSLContext], trail: _Trail) -> urllib.request.OpenerDirector:
    """Returns an opener that follows no redirects, raises for no status, and uses the proxies of the environment."""
    opener = urllib.request.OpenerDirector()
    for handler in (urllib.request.ProxyHandler(), _Handler(context, trail), urllib.request.UnknownHandler()):
        opener.add_handler(handler)
    return opener


def _attempt(opener: urllib.request.OpenerDirector, request: urllib.request.Request, timeout: float, attempts: Attempts) -> Any:
    """Sends once. The answer is whole and in memory, unless it is a stream or longer than MAX_ANSWER_BYTES."""
    response = opener.open(request, timeout=timeout)
    start = b""
    try:
        if not is_stream(response.headers):
            start = _start(response)
            if is_problem(response.headers):
                if len(start) > MAX_ANSWER_BYTES:
                    raise http.client.HTTPException(ENDLESS)
                if (response.headers.get("Content-Encoding") or "identity").strip().lower() != "identity":
                    raise http.client.HTTPException("a problem document in a coding that was not asked for")
            if len(start) <= MAX_ANSWER_BYTES:
                return _answer(io.BytesIO(start), response, request)
    except BaseException:
        response.close()
        raise
    return _answer(io.BufferedReader(_Rest(start, response, attempts)), response, request)


def _answer(body: Any, response: Any, request: urllib.request.Request) -> Any:
    answer: Any = urllib.response.addinfourl(body, response.headers, request.full_url, response.status)
    answer.msg = response.reason
    return answer


def _start(response: Any) -> bytes:
    """Reads an answer, of a longer one more than MAX_ANSWER_BYTES."""
    start = bytearray()
    while len(start) <= MAX_ANSWER_BYTES:
        piece = _read(response, MAX_ANSWER_BYTES + 1 - len(start))
        if not piece:
            response.close()
            break
        start += piece
    return bytes(start)


def _read(response: Any, most: int) -> bytes:
    """Reads a piece, empty at the end. http.client itself takes a connection that closes early for the end of some answers."""
    piece: bytes = response.read(most)
    if not piece and response.length:
        raise http.client.IncompleteRead(piece, response.length)
    return piece


class _Rest(io.RawIOBase):
    """The body of an answer that its reader finds out to be whole."""

    def __init__(self, start: bytes, response: Any, attempts: Attempts) -> None:
        self._start, self._response, self._attempts = memoryview(start), response, attempts

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        piece: Union[bytes, memoryview] = self._start[: len(into)]
        self._start = self._start[len(piece) :]
        if not piece:
            try:
                piece = _read(self._response, len(into))
            except (OSError, http.client.HTTPException) as error:
                raise self._attempts.broke_off(error) from error
        into[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._response.close()
        super().close()


def _problem(answer: Any) -> bytes:
    if not is_problem(answer.headers):
        return b""
    body: bytes = answer.read()
    answer.seek(0)
    return body


def _returned(answer: Any, url: str) -> Any:
    if answer.status >= 400:
        raise HTTPError(url, answer.status, answer.msg, answer.headers, answer)
    return answer
