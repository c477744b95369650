from __future__ import annotations

import unittest
from email.message import Message

from semel import KeyReused, OutcomeUnknown, Retry
from semel.attempts import Attempts

BUSY = Message()
BUSY["Retry-After"] = "3"


class Bounds(unittest.TestCase):
    def test_pauses_have_full_jitter_and_a_bound(self) -> None:
        retry = Retry(attempts=41, first_pause=1, longest_pause=8, within=1e9)
        rows = []
        for _ in range(200):
            attempts = Attempts("k", retry)
            rows.append([attempts.failed(OSError(), sent=True) for _ in range(40)])
        for at, longest in ((0, 1), (1, 2), (2, 4), (3, 8), (39, 8)):
            pauses = [row[at] for row in rows]
            self.assertLessEqual(max(pauses), longest)
            self.assertGreater(max(pauses), longest / 2)  # by chance once in 2**200
            self.assertLess(min(pauses), longest / 2)

    def test_server_sets_the_least_pause(self) -> None:
        self.assertEqual(Attempts("k", Retry()).answered(503, BUSY, b""), 3.0)

    def test_attempts_end(self) -> None:
        attempts = Attempts("k", Retry(attempts=3))
        attempts.failed(OSError(), sent=False)
        attempts.answered(503, Message(), b"")
        cause = ConnectionResetError()
        with self.assertRaises(OutcomeUnknown) as unknown:
            attempts.failed(cause, sent=False)
        error = unknown.exception
        self.assertEqual((error.key, error.attempts, error.verdict, error.retry_after, error.__cause__), ("k", 3, None, None, cause))

    def test_time_ends(self) -> None:
        with self.assertRaises(OutcomeUnknown) as unknown:
            Attempts("secret", Retry(within=2)).answered(503, BUSY, b"")
        self.assertEqual((unknown.exception.attempts, unknown.exception.retry_after), (1, 3.0))
        self.assertNotIn("secret", str(unknown.exception))

    def test_nothing_sent_is_no_unknown_outcome(self) -> None:
        attempts = Attempts("k", Retry(attempts=2))
        attempts.failed(OSError(), sent=False)
        last = ConnectionRefusedError()
        with self.assertRaises(ConnectionRefusedError) as raised:
            attempts.failed(last, sent=False)
        self.assertIs(raised.exception, last)

    def test_hopeless_errors_are_not_tried_again(self) -> None:
        with self.assertRaises(ValueError):
            Attempts("k", Retry()).failed(ValueError(), sent=False, again=False)
        attempts = Attempts("k", Retry())
        attempts.failed(OSError(), sent=True)
        with self.assertRaises(OutcomeUnknown):
            attempts.failed(ValueError(), sent=False, again=False)

    def test_definitive_answers(self) -> None:
        for status in (200, 303, 401, 404, 409):
            self.assertIsNone(Attempts("k", Retry()).answered(status, Message(), b""))

    def test_refused_keys(self) -> None:
        said = Message()
        said["Content-Type"] = "application/problem+json"
        with self.assertRaises(KeyReused):
            Attempts("k", Retry()).answered(422, said, b'{"type": "urn:semel:problem:key-reused"}')
        with self.assertRaises(OutcomeUnknown) as unknown:
            Attempts("k", Retry()).answered(409, said, b'{"type": "urn:semel:problem:outcome-unknown", "detail": "Ask us."}')
        self.assertTrue(unknown.exception.verdict and unknown.exception.verdict.definitive)
        self.assertIn("Ask us.", str(unknown.exception))
