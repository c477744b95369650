"""Every option of httpx's clients, and every way to name a proxy, against a server that loses its first answer."""

from __future__ import annotations

import asyncio
import inspect
import os
import ssl
import unittest
import urllib.request
from typing import Any, Awaitable, Callable, Dict, List
from unittest import mock
from urllib.error import URLError

import httpx

import semel
import semel.httpx
import semel.urllib
from semel import Retry
from tests.world import Gateway, Proxy, Service, certificate

QUICK = Retry(attempts=3, first_pause=0.001)
FAR = "http://shop.example/orders"  # no such name is known here: only a proxy can reach it


def environment(test: unittest.TestCase, **proxies: str) -> None:
    """Names these proxies in the environment, and no others, until the end of the test."""
    changed = mock.patch.dict(os.environ, proxies)
    changed.start()
    test.addCleanup(changed.stop)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        for name in {name, name.upper()} - set(proxies):
            os.environ.pop(name, None)


def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


class Wsgi:
    """An application in this process, which is busy at first."""

    def __init__(self, effects: List[str]) -> None:
        self.effects = effects

    def __call__(self, environ: Dict[str, Any], start: Callable[..., Any]) -> List[bytes]:
        start(self.status(environ["HTTP_IDEMPOTENCY_KEY"]), [])
        return [b""]

    def status(self, key: str) -> str:
        self.effects.append(key.strip('"'))
        return "503 Busy" if len(self.effects) == 1 else "201 Created"


class Asgi(Wsgi):
    async def __call__(self, scope: Dict[str, Any], receive: Any, send: Callable[..., Awaitable[None]]) -> None:  # type: ignore[override]
        status = int(self.status(dict(scope["headers"])[b"idempotency-key"].decode())[:3])
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})


class Clients:
    class Case(unittest.TestCase):
        base: Any  # the transport of httpx
        app: Any
        library: Any  # the client of httpx

        def post(self, url: str, options: Dict[str, Any], **request: Any) -> httpx.Response:
            raise NotImplementedError

        def hook(self, name: str) -> Any:
            raise NotImplementedError

        def setUp(self) -> None:
            environment(self)
            self.service = Service(self)

        def proxy(self) -> Proxy:
            return Proxy(self, self.service.address)

        def through(self, proxy: str) -> Dict[str, Any]:
            """Returns the option by which this version of httpx is given one proxy."""
            return {"proxy" if "proxy" in inspect.signature(self.library).parameters else "proxies": f"http://{proxy}"}

        def rows(self) -> Dict[str, Callable[[], Dict[str, Any]]]:
            """Returns options by the name of the one that they are about."""
            return {
                "auth": lambda: {"auth": ("Ada", "secret")},
                "params": lambda: {"params": {"a": "b"}},
                "headers": lambda: {"headers": {"A": "b"}},
                "cookies": lambda: {"cookies": {"a": "b"}},
                "verify": lambda: self.secure(verify=False),
                "cert": lambda: self.secure(verify=False, cert=True),
                "trust_env": lambda: {"trust_env": False},
                "http1": lambda: {"http1": True},
                "http2": lambda: {"http2": True},
                "proxy": lambda: {"proxy": f"http://{self.proxy().address}"},
                "proxies": lambda: {"proxies": {"http://": f"http://{self.proxy().address}"}},
                "mounts": lambda: {"mounts": {"http://": self.base()}},
                "timeout": lambda: {"timeout": 20},
                "follow_redirects": lambda: {"follow_redirects": True},
                "limits": lambda: {"limits": httpx.Limits(max_connections=1)},
                "max_redirects": lambda: {"max_redirects": 1},
                "event_hooks": lambda: {"event_hooks": {"request": [self.hook("from a hook")]}},
                "base_url": lambda: {"base_url": f"http://{self.service.address}/api/"},
                "transport": lambda: {"transport": self.base()},
                "app": lambda: {"app": self.app(self.service.effects)},
                "default_encoding": lambda: {"default_encoding": "latin-1"},
            }

        def secure(self, **options: Any) -> Dict[str, Any]:
            context, files = certificate(self)
            self.service = Service(self, context)
            if "cert" in options:
                options["cert"] = files
            return {**options, "base_url": f"https://{self.service.address}"}

        def test_each_option(self) -> None:
            rows = self.rows()
            for option in list(inspect.signature(self.library).parameters):
                with self.subTest(option):
                    self.assertIn(option, rows, "a new option of httpx: give it a row")
                    self.service = Service(self)
                    options = {"base_url": f"http://{self.service.address}", **rows[option]()}
                    self.service.faults = [] if option == "app" else ["lose"]
                    got = self.post("/orders", options, content=b"amount=12")
                    self.assertEqual((got.status_code, len(self.service.effects), len(set(self.service.effects))), (201, 2, 1))
                    if option == "event_hooks":
                        self.assertEqual(self.service.effects[0], "from a hook")

        def test_each_way_to_name_a_proxy(self) -> None:
            gateway = Gateway(self, self.service)
            for way, variables in (
                ("option", {}), ("mounts", {}), ("HTTP_PROXY", {"HTTP_PROXY": ""}), ("http_proxy", {"http_proxy": ""}),
                ("ALL_PROXY", {"ALL_PROXY": ""}), ("NO_PROXY", {"HTTP_PROXY": "", "NO_PROXY": "other.example"}),
            ):  # fmt: skip
                with self.subTest(way):
                    proxy, options = Proxy(self, gateway.address), {}
                    proxy.cuts = ["answer", "body"]
                    if way == "option":
                        options = self.through(proxy.address)
                    if way == "mounts":
                        options = {"mounts": {"http://shop.example": self.base(proxy=httpx.Proxy(f"http://{proxy.address}"))}}
                    environment(self, **{name: value or f"http://{proxy.address}" for name, value in variables.items()})
                    before = len(self.service.effects)
                    got = self.post(FAR, options, content=b"amount=12")
                    self.assertEqual((got.status_code, got.headers["idempotency-status"]), (201, "replayed"))
                    self.assertEqual((len(self.service.effects) - before, proxy.asked), (1, [FAR] * 3))

        def test_no_proxy_where_the_environment_is_not_trusted_or_excludes_the_host(self) -> None:
            proxy = self.proxy()
            for options, excluded in (({"trust_env": False}, ""), ({}, "127.0.0.1")):
                environment(self, HTTP_PROXY=f"http://{proxy.address}", NO_PROXY=excluded)
                self.service.faults = ["lose"]
                self.assertEqual(self.post(f"http://{self.service.address}/orders", options, content=b"a").status_code, 201)
            self.assertEqual((len(self.service.effects), len(set(self.service.effects)), proxy.asked), (4, 2, []))

        def test_tunnel(self) -> None:
            for variables in ({}, {"HTTPS_PROXY": ""}, {"ALL_PROXY": ""}):
                context, _ = certificate(self)
                self.service = Service(self, context)
                proxy = self.proxy()
                proxy.cuts = ["refuse", "", "refuse"]
                environment(self, **{name: f"http://{proxy.address}" for name in variables})
                options = {} if variables else self.through(proxy.address)
                self.service.faults = ["lose"]
                got = self.post("https://shop.example/orders", {**options, "verify": False, "retry": Retry(attempts=4, first_pause=0.001)}, content=b"a")
                self.assertEqual((got.status_code, len(self.service.effects), len(set(self.service.effects))), (201, 2, 1))
                self.assertEqual(proxy.asked, ["shop.example:443"] * 4)

        def test_refused_tunnels_have_sent_nothing(self) -> None:
            proxy = self.proxy()
            proxy.cuts = ["refuse"] * 3
            with self.assertRaises(httpx.ProxyError):
                self.post("https://shop.example/orders", self.through(proxy.address), content=b"a")
            self.assertEqual(len(proxy.asked), 3)

        def test_request_that_httpx_refuses_to_send_through_a_tunnel(self) -> None:
            context, _ = certificate(self)
            self.service = Service(self, context)
            proxy = self.proxy()
            with self.assertRaises(httpx.LocalProtocolError):
                self.post("https://shop.example/orders", {**self.through(proxy.address), "verify": False}, content=b"a", headers={"A": "b\nc"})
            self.assertEqual((self.service.effects, len(proxy.asked)), ([], 1))

        def test_key_of_the_caller_is_sent_once(self) -> None:
            self.service.faults = ["lose"]
            for name in ("Idempotency-Key", "idempotency-key"):
                self.post(f"http://{self.service.address}/orders", {}, content=b"a", headers={name: '"mine"'})
            self.assertEqual((self.service.effects, self.service.keys), (["mine"] * 3, [1] * 3))

        def test_options_that_would_protect_nothing(self) -> None:
            for error, wrong in ((TypeError, {"methods": "POST"}), (ValueError, {"headers": semel.headers("k")})):
                with self.assertRaises(error):
                    self.post(f"http://{self.service.address}/orders", wrong)
            self.service.faults = ["lose"]
            self.assertEqual(self.post(f"http://{self.service.address}/orders", {"methods": ["post"]}, content=b"a").status_code, 201)
            self.assertEqual((len(self.service.effects), len(set(self.service.effects))), (2, 1))


class HeadersOfClients(unittest.TestCase):
    def test_key_of_every_request(self) -> None:
        for library in (semel.httpx.Client, semel.httpx.AsyncClient):
            client = library()
            client.headers.update(semel.headers("k"))
            with self.assertRaisesRegex(ValueError, "names one request"):
                client.build_request("POST", FAR)


class Sync(Clients.Case):
    base, app, library = httpx.HTTPTransport, Wsgi, httpx.Client

    def post(self, url: str, options: Dict[str, Any], **request: Any) -> httpx.Response:
        with semel.httpx.Client(**{"retry": QUICK, **options}) as client:
            return client.post(url, **request)

    def hook(self, name: str) -> Any:
        return lambda request: request.headers.update(semel.headers(name))


class Async(Clients.Case):
    base, app, library = httpx.AsyncHTTPTransport, Asgi, httpx.AsyncClient

    def post(self, url: str, options: Dict[str, Any], **request: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            async with semel.httpx.AsyncClient(**{"retry": QUICK, **options}) as client:
                return await client.post(url, **request)

        return asyncio.run(send())

    def hook(self, name: str) -> Any:
        async def set_key(request: httpx.Request) -> None:
            request.headers.update(semel.headers(name))

        return set_key


class Urllib(unittest.TestCase):
    """urlopen reads the proxies of the environment."""

    def setUp(self) -> None:
        self.service = Service(self)

    def test_proxy(self) -> None:
        gateway = Gateway(self, self.service)
        proxy = Proxy(self, gateway.address)
        proxy.cuts = ["answer", "body", "answer"]
        environment(self, http_proxy=f"http://Ada:secret@{proxy.address}")
        request = urllib.request.Request(FAR, b"amount=12")
        for exchanges in (4, 5):
            with semel.urllib.urlopen(request, retry=Retry(attempts=4, first_pause=0.001)) as answer:
                self.assertEqual(answer.headers["Idempotency-Status"], "replayed")
            self.assertEqual((len(self.service.effects), proxy.asked), (1, [FAR] * exchanges))

    def test_tunnel(self) -> None:
        context, _ = certificate(self)
        self.service = Service(self, context)
        proxy = Proxy(self, self.service.address)
        self.service.faults = ["lose", "refuse", "lose"]
        environment(self, https_proxy=f"http://{proxy.address}")
        request = urllib.request.Request("https://shop.example/orders", b"amount=12")
        with semel.urllib.urlopen(request, retry=Retry(attempts=4, first_pause=0.001), context=trusting()) as answer:
            self.assertEqual(answer.status, 201)
        self.assertEqual((len(self.service.effects), len(set(self.service.effects))), (3, 1))
        self.assertEqual(proxy.asked, ["shop.example:443"] * 4)
        self.assertEqual(self.service.targets, ["/orders"] * 4)

    def test_refused_tunnels_have_sent_nothing(self) -> None:
        proxy = Proxy(self, self.service.address)
        proxy.cuts = ["refuse"] * 3
        environment(self, https_proxy=f"http://{proxy.address}")
        with self.assertRaises(URLError):
            semel.urllib.urlopen("https://shop.example/orders", b"amount=12", retry=QUICK)
        self.assertEqual(len(proxy.asked), 3)

    def test_key_of_the_caller_is_sent_once(self) -> None:
        environment(self)
        self.service.faults = ["lose"]
        for name in ("Idempotency-Key", "idempotency-key"):
            request = urllib.request.Request(f"http://{self.service.address}/orders", b"a", {name: '"mine"'})
            semel.urllib.urlopen(request, retry=QUICK).close()
        self.assertEqual((self.service.effects, self.service.keys), (["mine"] * 3, [1] * 3))
