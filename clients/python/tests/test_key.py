from __future__ import annotations

import json
import unittest

import semel
from semel.key import key_in
from tests.world import VECTORS


class Keys(unittest.TestCase):
    def test_vectors(self) -> None:
        cases = [case for case in json.loads((VECTORS / "keys.json").read_text())["cases"] if case["lenient"]]
        self.assertGreater(len(cases), 20)
        for case in cases:
            with self.subTest(case["case"]):
                self.assertEqual(key_in(case["wire"]), case["name"])
                self.assertEqual(key_in(semel.quote_key(case["name"])), case["name"])

    def test_quoted(self) -> None:
        self.assertEqual(semel.headers('a"b\\c'), {"Idempotency-Key": '"a\\"b\\\\c"'})
        self.assertEqual(len(semel.quote_key("x" * semel.MAX_KEY_LENGTH)), semel.MAX_KEY_LENGTH + 2)
        for wrong in ("", "å", "a\nb", "a\n", "x" * (semel.MAX_KEY_LENGTH + 1)):
            with self.assertRaises(ValueError):
                semel.quote_key(wrong)

    def test_minted(self) -> None:
        keys = {semel.new_key() for _ in range(1000)}
        self.assertEqual(len(keys), 1000)
        for key in keys:
            self.assertRegex(key, "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
