from __future__ import annotations

import json
import unittest
from email.message import Message
from typing import Any

from semel import Verdict, judge
from semel.verdict import MAX_PROBLEM_BYTES
from tests.world import VECTORS

PROBLEM = {"Content-Type": "application/problem+json; charset=utf-8"}

# What each condition of the vectors is to a program.
KINDS = {
    "key-missing": "rejected", "key-invalid": "rejected", "scope-missing": "rejected", "body-too-large": "rejected",
    "form-stale": "rejected", "in-flight": "in-flight", "mismatch": "mismatch", "unknown": "unknown", "not-kept": "not-kept",
    "unreadable": "not-kept", "cancelled": "cancelled", "duplicate": "duplicate", "quota": "unavailable",
    "unavailable": "unavailable", "full": "unavailable", "shutting-down": "unavailable", "rolled-back": "unavailable",
    "commit-unknown": "unavailable", "held-too-long": "unavailable", "internal": "unavailable",
}  # fmt: skip


def headers(**values: Any) -> Message:
    found = Message()
    for name, value in values.items():
        if value is not None:
            found[name.replace("_", "-")] = value
    return found


def problem(status: int, document: Any, **more: str) -> Verdict:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return judge(status, headers(**PROBLEM, **more), body)


class Verdicts(unittest.TestCase):
    def test_vectors(self) -> None:
        cases = json.loads((VECTORS / "errors.json").read_text())["cases"]
        self.assertEqual([case["condition"] for case in cases if case["condition"] not in KINDS], [])
        self.assertGreater(len(cases), 15)
        for case in cases:
            with self.subTest(case["condition"]):
                body = {name: case[name] for name in ("type", "status", "retryable")}
                got = judge(case["status"], headers(**case["headers"]), json.dumps(body).encode())
                wait = case["headers"]["Retry-After"]
                self.assertEqual(got, Verdict(KINDS[case["condition"]], case["definitive"], False, float(wait) if wait else None, body))

    def test_status_decides_where_no_problem_of_semel_is_named(self) -> None:
        for status in (200, 201, 204, 303):
            self.assertEqual(judge(status, headers()), Verdict("done", True, False, None, None))
        for status in (400, 401, 404, 409, 422):
            self.assertEqual(judge(status, headers()), Verdict("rejected", True, False, None, None))
        for status in (408, 421, 425, 429, 500, 502, 503, 504):
            self.assertEqual(judge(status, headers()), Verdict("unavailable", False, False, None, None))
        for kind in ("https://example.org/in-flight", "urn:other:problem:in-flight", "urn:semel:problem:__class__", 7, None):
            self.assertTrue(problem(409, {"type": kind}).definitive)

    def test_unknown_that_the_server_will_find_out_is_no_answer_yet(self) -> None:
        for retryable, definitive in ((True, False), (False, True), (None, True), ("true", True), (1, True)):
            got = problem(409, {"type": "urn:semel:problem:outcome-unknown", "retryable": retryable}, Retry_After="7")
            self.assertEqual((got.kind, got.definitive, got.retry_after), ("unknown", definitive, 7.0))

    def test_recorded_failure_is_the_answer(self) -> None:
        for status in (408, 429, 500, 503):
            for again in ({"Idempotency_Status": "replayed"}, {"Idempotent_Replayed": "true"}):
                self.assertEqual(judge(status, headers(**again)), Verdict("rejected", True, True, None, None))
            self.assertFalse(judge(status, headers(Idempotency_Status="executed")).definitive)

    def test_unreadable_problem_is_judged_by_its_status(self) -> None:
        long = b'{"type": "urn:semel:problem:in-flight", "detail": "%s"}' % (b"x" * MAX_PROBLEM_BYTES)
        for body in (b"", b"{", b"null", b"7", b"[" * 60000, b"\xff", b"1" * 6000, long):
            self.assertEqual(problem(409, body), Verdict("rejected", True, False, None, None))
        other = judge(409, headers(Content_Type="application/json"), b'{"type": "urn:semel:problem:in-flight"}')
        self.assertEqual(other, Verdict("rejected", True, False, None, None))

    def test_retry_after(self) -> None:
        date = "Sun, 22 Nov 2026 12:00:00 GMT"
        for text, want in (
            ("7", 7.0), (" 0 ", 0.0), ("9" * 5000, 86400.0), ("Sun, 22 Nov 2026 12:00:30 GMT", 30.0),
            ("Sat, 21 Nov 2026 12:00:30 GMT", 0.0), ("Sun, 22 Nov 9999 12:00:30 GMT", 86400.0),
            ("", None), ("-1", None), ("1.5", None), ("soon", None), ("Soon", None), ("2026-11-22", None), ("٣", None),
        ):  # fmt: skip
            with self.subTest(text[:40]):
                self.assertEqual(judge(503, headers(Date=date, Retry_After=text)).retry_after, want)
        self.assertEqual(judge(503, headers(Retry_After="Sun, 22 Nov 2020 12:00:30 GMT")).retry_after, 0.0)
