"""Clients that take the place of httpx.Client and httpx.AsyncClient.

A POST or PATCH without an Idempotency-Key header gets a fresh key, which stays in the headers of the httpx.Request: sending the
same object again is the same intent. This module needs httpx 0.23.3 or newer.
"""

from __future__ import annotations

import ssl
import time
from typing import Any, AsyncIterator, Collection, Dict, FrozenSet, Iterator, Optional, Tuple, Union, cast

import anyio
import httpx

from semel.attempts import ENDLESS, MAX_ANSWER_BYTES, Attempts, Retry
from semel.key import HEADER, key_in, new_key, quote_key
from semel.verdict import is_problem, is_stream

try:
    from h2.exceptions import H2Error
except ImportError:  # without HTTP/2

    class H2Error(Exception):  # type: ignore[no-redef]
        pass


# Errors from before a byte of the request has been sent. httpx.LocalProtocolError is not one of them: it also means that the
# server broke HTTP/2, after it has acted.
_UNSENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    ssl.SSLCertVerificationError,
)

# How an attempt ends without an answer. httpx 0.23 lets errors of ssl through, and httpcore those of h2 in the middle of a body.
_BROKEN = (httpx.TransportError, httpx.DecodingError, ssl.SSLError, H2Error)

# How much of a packed problem document is unpacked at a time, in bytes.
_SLICE = 8


class Client(httpx.Client):
    """httpx.Client that sends each request of methods under one key, until there is a definitive answer.

    It takes every option of httpx.Client, and protects whatever they send with: proxies, those of the environment, mounts, and a
    transport of yours, which makes one attempt.

    Raises OutcomeUnknown, KeyReused, and the error of httpx itself when no attempt has sent anything; ValueError, before anything
    is sent, for a body from an iterator, a file or files= that is longer than retry.max_body. An answer that is a stream or
    longer than 1 MiB raises OutcomeUnknown when it breaks off while it is read.
    """

    def __init__(self, *, retry: Retry = Retry(), methods: Collection[str] = ("POST", "PATCH"), **options: Any) -> None:
        super().__init__(**options)
        names = _names(self, methods)
        self._transport = _Transport(self._transport, retry, names)
        mounts = {pattern: base and _Transport(base, retry, names) for pattern, base in self._mounts.items()}
        self._mounts = mounts  # None means the client's own transport

    def build_request(self, *what: Any, **options: Any) -> httpx.Request:
        _refuse_key(self)
        return super().build_request(*what, **options)


class AsyncClient(httpx.AsyncClient):
    """httpx.AsyncClient, as Client is httpx.Client. A cancelled request keeps its key."""

    def __init__(self, *, retry: Retry = Retry(), methods: Collection[str] = ("POST", "PATCH"), **options: Any) -> None:
        super().__init__(**options)
        names = _names(self, methods)
        self._transport = _AsyncTransport(self._transport, retry, names)
        mounts = {pattern: base and _AsyncTransport(base, retry, names) for pattern, base in self._mounts.items()}
        self._mounts = mounts

    def build_request(self, *what: Any, **options: Any) -> httpx.Request:
        _refuse_key(self)
        return super().build_request(*what, **options)


def _names(client: Union[httpx.Client, httpx.AsyncClient], methods: Collection[str]) -> FrozenSet[str]:
    """Returns the methods as httpx writes them, and refuses options that would protect nothing, or lose a request."""
    if isinstance(methods, str):
        raise TypeError(f'methods is a collection of names, such as {{"{methods}"}}')
    _refuse_key(client)
    return frozenset(name.upper() for name in methods)


def _refuse_key(client: Union[httpx.Client, httpx.AsyncClient]) -> None:
    """Refuses a key for every request of a client: the second would get the answer of the first."""
    if HEADER in client.headers:
        raise ValueError(f"{HEADER} names one request: give it to the request (headers=semel.headers(key)), not to the client")


class _Transport(httpx.BaseTransport):
    """Repeats what its base sends once. It is safe for concurrent use if its base is."""

    def __init__(self, base: httpx.BaseTransport, retry: Retry, methods: FrozenSet[str]) -> None:
        self._base, self._retry, self._methods = base, retry, methods

    def __enter__(self) -> _Transport:
        self._base.__enter__()
        return self

    def __exit__(self, *why: Any) -> None:
        self._base.__exit__(*why)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method not in self._methods:
            return self._base.handle_request(request)
        self._keep_body(request)
        attempts = _begin(request, self._retry)
        while True:
            trail = _Trail(request)
            try:
                response, problem = self._attempt(request, trail, attempts)
            except _BROKEN as error:
                pause = _failed(attempts, error, trail)
            else:
                try:
                    wait = attempts.answered(response.status_code, response.headers, problem)
                except BaseException:
                    response.close()
                    raise
                if wait is None:
                    return response
                response.close()
                pause = wait
            time.sleep(pause)

    def _keep_body(self, request: httpx.Request) -> None:
        if not isinstance(request.stream, httpx.ByteStream):
            body = bytearray()
            for chunk in cast(httpx.SyncByteStream, request.stream):
                _collect(body, chunk, self._retry.max_body)
            request.stream = httpx.ByteStream(bytes(body))

    def _attempt(self, request: httpx.Request, trail: _Trail, attempts: Attempts) -> Tuple[httpx.Response, bytes]:
        """Returns an answer, whole unless it is a stream or longer than MAX_ANSWER_BYTES, and its problem document."""
        request.extensions = {**trail.extensions, "trace": trail.trace}
        try:
            response = self._base.handle_request(request)
        finally:
            request.extensions = trail.extensions
        start, pieces = bytearray(), cast(httpx.SyncByteStream, response.stream).__iter__()
        try:
            if not is_stream(response.headers):
                for piece in pieces:
                    start += piece
                    if len(start) > MAX_ANSWER_BYTES:
                        break
                else:
                    response.close()
                    return _copy(response, httpx.ByteStream(bytes(start))), _problem(response, bytes(start))
            if is_problem(response.headers):
                raise httpx.RemoteProtocolError(ENDLESS)
        except BaseException:
            response.close()
            raise
        return _copy(response, _Rest(bytes(start), pieces, response, attempts)), b""

    def close(self) -> None:
        self._base.close()


class _Rest(httpx.SyncByteStream):
    """The body of an answer that its reader finds out to be whole."""

    def __init__(self, start: bytes, pieces: Iterator[bytes], response: httpx.Response, attempts: Attempts) -> None:
        self._start, self._pieces, self._response, self._attempts = start, pieces, response, attempts

    def __iter__(self) -> Iterator[bytes]:
        yield self._start
        try:
            yield from self._pieces
        except _BROKEN as error:
            raise self._attempts.broke_off(error) from error

    def close(self) -> None:
        self._response.close()


class _AsyncTransport(httpx.AsyncBaseTransport):
    """_Transport for httpx.AsyncClient."""

    def __init__(self, base: httpx.AsyncBaseTransport, retry: Retry, methods: FrozenSet[str]) -> None:
        self._base, self._retry, self._methods = base, retry, methods

    async def __aenter__(self) -> _AsyncTransport:
        await self._base.__aenter__()
        return self

    async def __aexit__(self, *why: Any) -> None:
        await self._base.__aexit__(*why)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.method not in self._methods:
            return await self._base.handle_async_request(request)
        await self._keep_body(request)
        attempts = _begin(request, self._retry)
        while True:
            trail = _Trail(request)
            try:
                response, problem = await self._attempt(request, trail, attempts)
            except _BROKEN as error:
                pause = _failed(attempts, error, trail)
            else:
                try:
                    wait = attempts.answered(response.status_code, response.headers, problem)
                except BaseException:
                    await response.aclose()
                    raise
                if wait is None:
                    return response
                await response.aclose()
                pause = wait
            await anyio.sleep(pause)

    async def _keep_body(self, request: httpx.Request) -> None:
        if not isinstance(request.stream, httpx.ByteStream):
            body = bytearray()
            async for chunk in cast(httpx.AsyncByteStream, request.stream):
                _collect(body, chunk, self._retry.max_body)
            request.stream = httpx.ByteStream(bytes(body))

    async def _attempt(self, request: httpx.Request, trail: _Trail, attempts: Attempts) -> Tuple[httpx.Response, bytes]:
        """Returns an answer, whole unless it is a stream or longer than MAX_ANSWER_BYTES, and its problem document."""
        request.extensions = {**trail.extensions, "trace": trail.atrace}
        try:
            response = await self._base.handle_async_request(request)
        finally:
            request.extensions = trail.extensions
        start, pieces = bytearray(), cast(httpx.AsyncByteStream, response.stream).__aiter__()
        try:
            if not is_stream(response.headers):
                async for piece in pieces:
                    start += piece
                    if len(start) > MAX_ANSWER_BYTES:
                        break
                else:
                    await response.aclose()
                    return _copy(response, httpx.ByteStream(bytes(start))), _problem(response, bytes(start))
            if is_problem(response.headers):
                raise httpx.RemoteProtocolError(ENDLESS)
        except BaseException:
            await response.aclose()
            raise
        return _copy(response, _AsyncRest(bytes(start), pieces, response, attempts)), b""

    async def aclose(self) -> None:
        await self._base.aclose()


class _AsyncRest(httpx.AsyncByteStream):
    """The body of an answer that its reader finds out to be whole."""

    def __init__(self, start: bytes, pieces: AsyncIterator[bytes], response: httpx.Response, attempts: Attempts) -> None:
        self._start, self._pieces, self._response, self._attempts = start, pieces, response, attempts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._start
        try:
            async for piece in self._pieces:
                yield piece
        except _BROKEN as error:
            raise self._attempts.broke_off(error) from error

    async def aclose(self) -> None:
        await self._response.aclose()


def _begin(request: httpx.Request, retry: Retry) -> Attempts:
    """Gives the request its key."""
    given = request.headers.get(HEADER)
    if given is not None:
        return Attempts(key_in(given), retry)
    key = new_key()
    request.headers[HEADER] = quote_key(key)
    return Attempts(key, retry)


class _Trail:
    """How far an attempt came, as httpcore tells by the extension trace."""

    told = False  # the base tells such things
    tunnel = False  # the header in question asks a proxy for a tunnel
    sent = False  # the header of the request has left

    def __init__(self, request: httpx.Request) -> None:
        self.extensions = request.extensions
        self._next = request.extensions.get("trace")  # of the caller

    def trace(self, event: str, info: Dict[str, Any]) -> None:
        self._note(event, info)
        if self._next is not None:
            self._next(event, info)

    async def atrace(self, event: str, info: Dict[str, Any]) -> None:
        self._note(event, info)
        if self._next is not None:
            await self._next(event, info)

    def _note(self, event: str, info: Dict[str, Any]) -> None:
        self.told = True
        if event.endswith(".send_request_headers.started"):
            self.tunnel = info["request"].method == b"CONNECT"
        if event.endswith(".send_request_headers.complete"):
            self.sent = self.sent or not self.tunnel


def _collect(body: bytearray, chunk: bytes, most: int) -> None:
    """Adds a piece of the request's body."""
    if len(body) + len(chunk) > most:
        raise ValueError(
            f"nothing was sent: the body is longer than Retry.max_body, {most} bytes, and is kept in memory so that it can be sent again "
            "(raise it: Client(retry=Retry(max_body=…)))"
        )
    body += chunk


def _copy(response: httpx.Response, stream: Union[httpx.SyncByteStream, httpx.AsyncByteStream]) -> httpx.Response:
    """Returns the response with another body, as it comes."""
    return httpx.Response(response.status_code, headers=response.headers, stream=stream, extensions=response.extensions)


def _problem(response: httpx.Response, body: bytes) -> bytes:
    """Returns the problem document in a body, if there is one. A few packed bytes can unpack to many, so they are unpacked in small pieces."""
    if not is_problem(response.headers):
        return b""
    if "Content-Encoding" not in response.headers:
        return body
    slices = (body[at : at + _SLICE] for at in range(0, len(body), _SLICE))
    plain = bytearray()
    for piece in httpx.Response(response.status_code, headers=response.headers, content=slices).iter_bytes():
        plain += piece
        if len(plain) > MAX_ANSWER_BYTES:
            raise httpx.RemoteProtocolError(ENDLESS)
    return bytes(plain)


def _failed(attempts: Attempts, error: Exception, trail: _Trail) -> float:
    # httpcore refuses what it is to send: the request as it is, or any after the server has broken HTTP/2 on this connection.
    refused = isinstance(error, httpx.LocalProtocolError) and trail.told and not trail.sent
    hopeless = (refused and not attempts.reached) or isinstance(error, httpx.UnsupportedProtocol) or _untrusted(error)
    return attempts.failed(error, sent=not refused and not isinstance(error, _UNSENT), again=not hopeless)


def _untrusted(error: Optional[BaseException]) -> bool:
    """Reports whether the server's certificate was refused."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False
