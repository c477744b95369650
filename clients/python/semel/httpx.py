"""Transports for httpx: httpx.Client(transport=Transport()), httpx.AsyncClient(transport=AsyncTransport()).

A POST or PATCH without an Idempotency-Key header gets a fresh key, which stays in the headers of the httpx.Request: sending the
same object again is the same intent. The transports need httpx 0.23.3 or newer.
"""

from __future__ import annotations

import ssl
import time
from typing import Collection, Optional, cast

import anyio
import httpx

from semel.attempts import MAX_ANSWER_BYTES, Attempts, Retry
from semel.key import HEADER, key_in, new_key, quote_key
from semel.verdict import is_problem

# Errors from before a byte of the request has been sent.
_UNSENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
    ssl.SSLCertVerificationError,
)


class Transport(httpx.BaseTransport):
    """Sends requests that change something under one key, until there is a definitive answer.

    base makes one attempt (default: httpx.HTTPTransport(); verify, cert, http2, proxy and limits are its parameters, because a
    client that is given a transport ignores its own). It is safe for concurrent use if its base is.

    Raises OutcomeUnknown, KeyReused, and the error of httpx itself when no attempt has sent anything; ValueError, before anything
    is sent, for a body from an iterator or a file that is longer than retry.max_body.
    """

    def __init__(self, base: Optional[httpx.BaseTransport] = None, retry: Retry = Retry(), methods: Collection[str] = ("POST", "PATCH")) -> None:
        self._base = httpx.HTTPTransport() if base is None else base
        self._retry, self._methods = retry, frozenset(methods)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method not in self._methods:
            return self._base.handle_request(request)
        self._keep_body(request)
        attempts = _begin(request, self._retry)
        while True:
            try:
                response = self._attempt(request)
            except (httpx.TransportError, ssl.SSLError) as error:  # httpx 0.23 lets the latter through
                pause = _failed(attempts, error)
            else:
                try:
                    wait = _answered(attempts, response)
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

    def _attempt(self, request: httpx.Request) -> httpx.Response:
        response = self._base.handle_request(request)
        if not _is_whole(response):
            return response
        body = bytearray()
        try:
            for chunk in cast(httpx.SyncByteStream, response.stream):
                _gather(body, chunk)
        finally:
            response.close()
        return _copy(response, bytes(body))

    def close(self) -> None:
        self._base.close()


class AsyncTransport(httpx.AsyncBaseTransport):
    """Transport for httpx.AsyncClient; its default base is httpx.AsyncHTTPTransport(). A cancelled request keeps its key."""

    def __init__(self, base: Optional[httpx.AsyncBaseTransport] = None, retry: Retry = Retry(), methods: Collection[str] = ("POST", "PATCH")) -> None:
        self._base = httpx.AsyncHTTPTransport() if base is None else base
        self._retry, self._methods = retry, frozenset(methods)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.method not in self._methods:
            return await self._base.handle_async_request(request)
        await self._keep_body(request)
        attempts = _begin(request, self._retry)
        while True:
            try:
                response = await self._attempt(request)
            except (httpx.TransportError, ssl.SSLError) as error:  # httpx 0.23 lets the latter through
                pause = _failed(attempts, error)
            else:
                try:
                    wait = _answered(attempts, response)
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

    async def _attempt(self, request: httpx.Request) -> httpx.Response:
        response = await self._base.handle_async_request(request)
        if not _is_whole(response):
            return response
        body = bytearray()
        try:
            async for chunk in cast(httpx.AsyncByteStream, response.stream):
                _gather(body, chunk)
        finally:
            await response.aclose()
        return _copy(response, bytes(body))

    async def aclose(self) -> None:
        await self._base.aclose()


def _begin(request: httpx.Request, retry: Retry) -> Attempts:
    """Gives the request its key."""
    given = request.headers.get(HEADER)
    if given is not None:
        return Attempts(key_in(given), retry)
    key = new_key()
    request.headers[HEADER] = quote_key(key)
    return Attempts(key, retry)


def _collect(body: bytearray, chunk: bytes, most: int) -> None:
    """Adds a piece of the request's body."""
    if len(body) + len(chunk) > most:
        raise ValueError(f"nothing was sent: a body that is longer than {most} bytes (Retry.max_body) is not read into memory to be repeated")
    body += chunk


def _is_whole(response: httpx.Response) -> bool:
    """Reports whether the answer is read within its attempt, so that one that breaks off leads to another."""
    length = response.headers.get("Content-Length") or ""
    return is_problem(response.headers) or (length.isdecimal() and int(length) <= MAX_ANSWER_BYTES)


def _gather(body: bytearray, chunk: bytes) -> None:
    """Adds a piece of an answer."""
    if len(body) + len(chunk) > MAX_ANSWER_BYTES:
        raise httpx.RemoteProtocolError("a problem document without an end")
    body += chunk


def _copy(response: httpx.Response, body: bytes) -> httpx.Response:
    """Returns the response with its body, as it came, in memory."""
    return httpx.Response(response.status_code, headers=response.headers, stream=httpx.ByteStream(body), extensions=response.extensions)


def _answered(attempts: Attempts, response: httpx.Response) -> Optional[float]:
    body = b""
    if is_problem(response.headers) and isinstance(response.stream, httpx.ByteStream):
        body = httpx.Response(response.status_code, headers=response.headers, content=b"".join(response.stream)).content  # decompressed
    return attempts.answered(response.status_code, response.headers, body)


def _failed(attempts: Attempts, error: Exception) -> float:
    hopeless = isinstance(error, (httpx.UnsupportedProtocol, httpx.LocalProtocolError)) or _untrusted(error)
    return attempts.failed(error, sent=not isinstance(error, _UNSENT), again=not hopeless)


def _untrusted(error: Optional[BaseException]) -> bool:
    """Reports whether the server's certificate was refused."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False
