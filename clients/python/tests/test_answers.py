"""The clients against answers that break off, which internal/testserver/cutanswers serves."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import tracemalloc
import unittest
import urllib.request
from typing import Any, Dict, Tuple
from urllib.error import HTTPError
from urllib.parse import quote

import httpx

import semel
import semel.httpx
import semel.urllib
from semel import OutcomeUnknown, Retry
from tests.world import VECTORS

QUICK = Retry(attempts=3, first_pause=0.001)
CASES = json.loads((VECTORS / "answers.json").read_text())["cases"]


class Answers:
    class Case(unittest.TestCase):
        http2 = False

        def send(self, url: str, headers: Dict[str, str]) -> Tuple[int, bytes]:
            raise NotImplementedError

        def setUp(self) -> None:
            command = [os.environ["SEMEL_TEST_ANSWERS"], str(VECTORS / "answers.json")]
            server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.addCleanup(server.communicate)
            assert server.stdout
            self.plain, self.secure = server.stdout.readline().strip(), server.stdout.readline().strip()

        def keys(self, path: str) -> Any:
            with urllib.request.urlopen(self.plain + path) as answer:
                return json.load(answer)

        def test_verdicts(self) -> None:
            self.assertGreater(len(CASES), 70)
            for case in CASES:
                if case["framing"] != "http2" or self.http2:
                    with self.subTest(case["case"]):
                        self.judge(case)

        def judge(self, case: Dict[str, Any]) -> None:
            path = "/python/" + quote(case["case"])
            url = (self.secure if case["framing"] == "http2" else self.plain) + path
            want = (201, b"again")
            if case["verdict"] == "answer":
                want = (case["status"], case.get("text", "").encode() * case.get("times", 1))
            try:
                got = self.send(url, {})
                self.assertNotEqual(case["verdict"], "rest")
            except OutcomeUnknown as unknown:
                # httpcore keeps a connection on which the server has broken HTTP/2 for some seconds, and refuses to send on it.
                self.assertTrue(case["verdict"] == "rest" or case["framing"] == "http2")
                got = self.send(url, semel.headers(unknown.key))
            self.assertTrue(got == want, (got[0], len(got[1])))
            keys = self.keys(path)
            self.assertEqual((len(keys), len(set(keys))), (1 if case["verdict"] == "answer" else 2, 1))

        def test_what_a_problem_is_packed_for_stays_packed(self) -> None:
            """The bomb holds 8 MB."""
            tracemalloc.start()
            self.addCleanup(tracemalloc.stop)
            self.judge(next(case for case in CASES if case["case"] == "gzip bomb in a problem"))
            self.assertLess(tracemalloc.get_traced_memory()[1], 6 << 20)


class Urllib(Answers.Case):
    def send(self, url: str, headers: Dict[str, str]) -> Tuple[int, bytes]:
        request = urllib.request.Request(url, b"{}", headers)
        try:
            answer = semel.urllib.urlopen(request, timeout=20, retry=QUICK)
        except HTTPError as error:
            answer = error
        with answer:
            body = answer.read()
            if answer.headers["Content-Encoding"]:
                body = httpx.Response(200, headers={"Content-Encoding": "gzip"}, content=body).content
            return answer.status, body


class Httpx(Answers.Case):
    http2 = True

    def send(self, url: str, headers: Dict[str, str]) -> Tuple[int, bytes]:
        with semel.httpx.Client(retry=QUICK, http2=True, verify=False, timeout=20) as client:
            answer = client.post(url, content=b"{}", headers=headers)
            return answer.status_code, answer.content


class HttpxAsync(Answers.Case):
    http2 = True

    def send(self, url: str, headers: Dict[str, str]) -> Tuple[int, bytes]:
        async def post() -> Tuple[int, bytes]:
            async with semel.httpx.AsyncClient(retry=QUICK, http2=True, verify=False, timeout=20) as client:
                answer = await client.post(url, content=b"{}", headers=headers)
                return answer.status_code, answer.content

        return asyncio.run(post())
