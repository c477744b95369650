"""The clients against every option of the server's middleware, which internal/pairs serves: it loses the first answer."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import unittest
import urllib.request
from typing import Any, Callable, Tuple
from urllib.error import HTTPError

import semel.httpx
import semel.urllib
from semel import Retry

QUICK = Retry(attempts=3, first_pause=0.001)
BODY, HEADERS = b'{"id": "order-17"}', {"Content-Type": "application/json"}

Send = Callable[[str], Tuple[int, bytes]]


def by_urllib(url: str) -> Tuple[int, bytes]:
    try:
        answer = semel.urllib.urlopen(urllib.request.Request(url, BODY, HEADERS), retry=QUICK)
    except HTTPError as error:
        answer = error
    with answer:
        return answer.status, answer.read()


def by_httpx(url: str) -> Tuple[int, bytes]:
    with semel.httpx.Client(retry=QUICK, trust_env=False) as client:
        answer = client.post(url, content=BODY, headers=HEADERS)
        return answer.status_code, answer.content


def by_async_httpx(url: str) -> Tuple[int, bytes]:
    async def post() -> Tuple[int, bytes]:
        async with semel.httpx.AsyncClient(retry=QUICK, trust_env=False) as client:
            answer = await client.post(url, content=BODY, headers=HEADERS)
            return answer.status_code, answer.content

    return asyncio.run(post())


class Pairs(unittest.TestCase):
    def read(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path) as answer:
            return json.load(answer)

    def test_each_option_of_the_server(self) -> None:
        for send in (by_urllib, by_httpx, by_async_httpx):
            server = subprocess.Popen([os.environ["SEMEL_TEST_PAIRS"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.addCleanup(server.communicate)
            assert server.stdout
            self.url = server.stdout.readline().strip()
            rows = self.read("/rows")
            self.assertGreater(len(rows), 20)
            for row in rows:
                with self.subTest(row["name"], client=send.__name__):
                    self.judge(row, *send(f"{self.url}/{row['name']}/orders"))

    def judge(self, row: Any, status: int, body: bytes) -> None:
        effects = self.read(f"/{row['name']}/effects")
        if row["names"]:
            self.assertEqual((status, effects), (400, 0))
            self.assertIn(row["names"].encode(), body)
        else:
            self.assertEqual((status, body, effects), (201, b"1\n", 1))
