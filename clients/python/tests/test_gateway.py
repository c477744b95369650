"""The clients against a real gateway, which is killed, and connections, which are cut."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import unittest
import urllib.request
from dataclasses import replace
from typing import Any, Dict, List, Tuple, Type
from urllib.error import HTTPError, URLError

import httpx

import semel
import semel.httpx
import semel.urllib
from semel import KeyReused, OutcomeUnknown, Retry
from tests.world import ROOT, Gateway, Proxy, Service, certificate

QUICK = Retry(attempts=1000, first_pause=0.05, longest_pause=0.2)

Answer = Tuple[int, Dict[str, str], bytes]  # status, headers with names in lower case, body


class Scenarios:
    """What every client has to get right."""

    class Case(unittest.TestCase):
        refused: Type[Exception]  # when no server listens

        def send(self, url: str, body: bytes, headers: Dict[str, str], retry: Retry) -> Answer:
            raise NotImplementedError

        def setUp(self) -> None:
            self.service = Service(self)
            self.gateway = Gateway(self, self.service)
            self.proxy = Proxy(self, self.gateway.address)

        def post(self, path: str, key: str = "", body: bytes = b"amount=12", through: str = "", retry: Retry = QUICK) -> Answer:
            return self.send(f"http://{through or self.proxy.address}{path}", body, semel.headers(key) if key else {}, retry)

        def test_connections_cut_on_the_way_to_the_gateway(self) -> None:
            self.proxy.cuts = ["request", "answer", "body", "request"]
            status, headers, body = self.post("/orders")
            self.assertEqual((status, headers["idempotency-status"], body), (201, "replayed", b'{"effect": 1}'))
            self.assertEqual((len(self.service.effects), self.proxy.exchanges), (1, 5))

        def test_the_same_without_a_gateway_has_several_effects(self) -> None:
            proxy = Proxy(self, self.service.address)
            proxy.cuts = ["answer", "body"]
            status, _, _ = self.post("/orders", through=proxy.address)
            self.assertEqual((status, len(self.service.effects), len(set(self.service.effects))), (201, 3, 1))

        def test_every_answer_is_lost(self) -> None:
            self.proxy.cuts = ["answer", "body", "answer"]
            with self.assertRaises(OutcomeUnknown) as unknown:
                self.post("/orders", retry=replace(QUICK, attempts=3))
            self.assertIsNone(unknown.exception.verdict)
            self.assertIsNotNone(unknown.exception.__cause__)
            _, headers, _ = self.post("/orders", unknown.exception.key)
            self.assertEqual((headers["idempotency-status"], len(self.service.effects)), ("replayed", 1))

        def test_problem_without_an_end(self) -> None:
            self.service.faults = ["endless"]
            status, _, _ = self.post("/orders", through=self.service.address)
            self.assertEqual((status, len(self.service.effects)), (201, 2))

        def test_refused_before_any_work(self) -> None:
            self.service.faults = ["refuse", "refuse"]
            status, headers, _ = self.post("/orders")
            self.assertEqual((status, headers["idempotency-status"], len(self.service.effects)), (201, "executed", 1))

        def test_refused_for_good(self) -> None:
            self.service.faults = ["refuse"] * 3
            with self.assertRaises(OutcomeUnknown) as unknown:
                self.post("/orders", "k", retry=replace(QUICK, attempts=3))
            self.assertEqual((unknown.exception.key, unknown.exception.attempts), ("k", 3))
            self.assertEqual(self.service.effects, [])
            self.assertEqual(self.post("/orders", unknown.exception.key)[0], 201)

        def test_lost_answer_that_stays_unknown(self) -> None:
            for fault in ("lose", "die"):
                self.service.faults = [fault]
                with self.assertRaises(OutcomeUnknown) as first:
                    self.post("/orders")
                with self.assertRaises(OutcomeUnknown) as second:
                    self.post("/orders", first.exception.key)
                for unknown in (first.exception, second.exception):
                    self.assertTrue(unknown.verdict and unknown.verdict.definitive)
                self.assertEqual(self.service.effects[-1], first.exception.key)
            self.assertEqual(len(self.service.effects), 2)

        def test_lost_answer_that_the_gateway_finds_out(self) -> None:
            self.service.faults = ["lose"]
            status, headers, _ = self.post("/payments", "k")
            self.assertEqual((status, headers["location"]), (201, "/payments/1"))
            self.assertEqual(self.service.effects, ["k"])

        def test_gateway_killed_in_the_middle(self) -> None:
            self.service.faults = ["hold"]
            got: List[Any] = []
            thread = threading.Thread(target=lambda: got.append(self.post("/payments", "k")))
            thread.start()
            self.assertTrue(self.service.arrived.wait(60))
            self.gateway.kill()
            self.service.go_on.set()
            self.gateway.start()
            thread.join()
            self.assertEqual([(status, headers["location"]) for status, headers, _ in got], [(201, "/payments/1")])
            self.assertEqual(self.service.effects, ["k"])

        def test_no_server_listens(self) -> None:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                with self.assertRaises(self.refused):
                    self.post("/orders", through="127.0.0.1:%d" % free.getsockname()[1], retry=replace(QUICK, attempts=3))

        def test_server_with_another_certificate(self) -> None:
            server = Service(self, certificate(self)[0])
            with self.assertRaises((self.refused, ssl.SSLCertVerificationError)):
                self.send(f"https://{server.address}/orders", b"amount=12", {}, QUICK)
            self.assertEqual(server.accepted, 1)

        def test_key_of_another_request(self) -> None:
            self.assertEqual(self.post("/orders", "k", b"amount=12")[0], 201)
            with self.assertRaises(KeyReused) as reused:
                self.post("/orders", "k", b"amount=13")
            self.assertEqual((reused.exception.key, self.service.effects), ("k", ["k"]))

        def test_each_call_without_a_key_is_a_wish(self) -> None:
            self.assertEqual([self.post("/orders")[0] for _ in range(2)], [201, 201])
            self.assertEqual(len(set(self.service.effects)), 2)

        def test_redirect_is_an_answer(self) -> None:
            self.service.faults = ["redirect"]
            self.assertEqual(self.post("/orders")[0], 303)


class Urllib(Scenarios.Case):
    refused = URLError

    def send(self, url: str, body: bytes, headers: Dict[str, str], retry: Retry) -> Answer:
        return self.read(urllib.request.Request(url, body, headers), retry)

    def read(self, request: urllib.request.Request, retry: Retry = QUICK) -> Answer:
        with semel.urllib.urlopen(request, timeout=20, retry=retry) as answer:
            return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()

    def test_request_keeps_its_key(self) -> None:
        request = urllib.request.Request(f"http://{self.proxy.address}/orders", b"amount=12")
        self.assertEqual([self.read(request)[1]["idempotency-status"] for _ in range(2)], ["executed", "replayed"])

    def test_refusals_raise_as_in_urllib(self) -> None:
        with self.assertRaises(HTTPError) as refused:
            self.send(f"http://{self.proxy.address}/orders", b"", {"Idempotency-Key": '"'}, QUICK)
        with refused.exception as answer:
            self.assertEqual(answer.code, 400)
            self.assertIn(b"key-invalid", answer.read())

    def test_hopeless_requests_are_not_sent(self) -> None:
        with self.assertRaises(URLError):
            self.send("nothing://localhost/", b"", {}, Retry(first_pause=1e6, longest_pause=1e6, within=1e9))
        with self.assertRaises(TypeError):
            semel.urllib.urlopen(f"http://{self.proxy.address}/orders", iter([b"a"]))  # type: ignore[arg-type]
        self.assertEqual(self.proxy.exchanges, 0)


class Httpx(Scenarios.Case):
    refused = httpx.ConnectError

    def send(self, url: str, body: bytes, headers: Dict[str, str], retry: Retry) -> Answer:
        with self.client(retry) as client:
            return self.read(client.post(url, content=body, headers=headers))

    @staticmethod
    def client(retry: Retry = QUICK) -> httpx.Client:
        return semel.httpx.Client(retry=retry, timeout=20)

    @staticmethod
    def read(response: httpx.Response) -> Answer:
        return response.status_code, {name.lower(): value for name, value in response.headers.items()}, response.content

    def test_request_keeps_its_key(self) -> None:
        with self.client() as client:
            request = client.build_request("POST", f"http://{self.proxy.address}/orders", json={"amount": 12})
            got = [client.send(request).headers["idempotency-status"] for _ in range(2)]
        self.assertEqual(got, ["executed", "replayed"])

    def test_readme(self) -> None:
        program = (ROOT / "clients/python/README.md").read_text().split("```python\n")[1].partition("```")[0]
        found: Dict[str, Any] = {}
        exec(program.replace("https://shop.example", f"http://{self.proxy.address}"), found)
        self.addCleanup(found["client"].close)
        self.assertEqual((found["response"].status_code, len(self.service.effects)), (201, 1))

    def test_bodies_that_can_be_read_once(self) -> None:
        self.proxy.cuts = ["request", "answer"]
        url = f"http://{self.proxy.address}/orders"
        with self.client() as client:
            got = client.post(url, content=iter([b"amount", b"=12"]), headers={"Content-Length": "9"})
            self.assertEqual((got.status_code, len(self.service.effects)), (201, 1))
            got = client.post(url, data={"amount": "12"}, files={"scan": b"line"})
            self.assertEqual((got.status_code, len(self.service.effects)), (201, 2))
            exchanges = self.proxy.exchanges
            for body in ({"content": (b"x" * 1024 for _ in range(1025))}, {"files": {"scan": b"x" * (1 << 20)}}):
                with self.assertRaisesRegex(ValueError, "max_body"):
                    client.post(url, **body)
            with self.assertRaises(httpx.UnsupportedProtocol):
                client.post("nothing://localhost/", content=b"a")
        self.assertEqual(self.proxy.exchanges, exchanges)

    def test_compressed_problem(self) -> None:
        self.service.faults = ["packed"]
        status, _, _ = self.post("/orders", through=self.service.address)
        self.assertEqual((status, len(self.service.effects)), (201, 2))

    def test_other_methods_and_streams_pass(self) -> None:
        with self.client() as client, client.stream("GET", f"http://{self.proxy.address}/by-key/k") as answer:
            self.assertEqual((answer.status_code, b"".join(answer.iter_raw())), (404, b'{"effect": 0}'))
            self.assertNotIn("Idempotency-Key", answer.request.headers)
        with self.client() as client, client.stream("POST", f"http://{self.proxy.address}/orders", content=b"a") as answer:
            self.assertEqual(b"".join(answer.iter_raw()), b'{"effect": 1}')


class HttpxAsync(Scenarios.Case):
    refused = httpx.ConnectError

    def send(self, url: str, body: bytes, headers: Dict[str, str], retry: Retry) -> Answer:
        async def post() -> Answer:
            async with self.client(retry) as client:
                return Httpx.read(await client.post(url, content=body, headers=headers))

        return asyncio.run(post())

    @staticmethod
    def client(retry: Retry = QUICK) -> httpx.AsyncClient:
        return semel.httpx.AsyncClient(retry=retry, timeout=20)

    def test_bodies_that_can_be_read_once(self) -> None:
        async def body() -> Any:
            yield b"amount"
            yield b"=12"

        async def post() -> int:
            async with self.client() as client:
                got = await client.post(f"http://{self.proxy.address}/orders", content=body(), headers={"Content-Length": "9"})
                return got.status_code

        self.proxy.cuts = ["request", "answer"]
        self.assertEqual((asyncio.run(post()), len(self.service.effects)), (201, 1))

    def test_cancelled_request_keeps_its_key(self) -> None:
        self.service.faults = ["hold"]

        async def post() -> str:
            async with self.client() as client:
                request = client.build_request("POST", f"http://{self.proxy.address}/orders", content=b"amount=12")
                first = asyncio.ensure_future(client.send(request))
                await asyncio.get_running_loop().run_in_executor(None, self.service.arrived.wait)
                first.cancel()
                self.service.go_on.set()
                return str((await client.send(request)).headers["idempotency-status"])

        self.assertEqual((asyncio.run(post()), len(self.service.effects)), ("replayed", 1))
