import { expect, test } from "vitest";
import { definitivePage, ends, formatOutcomes, idOf, isToken, outcomesIn, outcomesOfMeta } from "../src/outcome.js";

test("the cookie among others", () => {
  const text = "a=1; semel_outcome=AAAA:executed:303/BBBB:in-flight:409/CCCC:refused:409; semel_outcomes=x:executed:1";
  const got = outcomesIn(text);
  expect(got).toEqual([
    { id: "AAAA", word: "executed", status: 303 }, { id: "BBBB", word: "in-flight", status: 409 },
    { id: "CCCC", word: "refused", status: 409 },
  ]);
  expect(outcomesIn("semel_outcome=" + formatOutcomes(got))).toEqual(got);
});

test("what is not well formed is left out", () => {
  for (const text of ["", "semel_outcome=", "semel_outcome=/", "semel_outcome=A", "semel_outcome=A:maybe:200", "semel_outcome=:executed:1"]) {
    expect(outcomesIn(text)).toEqual([]);
  }
  expect(outcomesIn("semel_outcome=A:executed:x")).toEqual([{ id: "A", word: "executed", status: 0 }]);
  expect(outcomesOfMeta("  k1 replayed  201 ")).toEqual([{ id: "k1", word: "replayed", status: 201 }]);
  expect(outcomesOfMeta("k1")).toEqual([]);
});

test("a token is known by its first 16 bytes", () => {
  const bytes = Buffer.from(Array.from({ length: 37 }, (_, n) => 255 - n * 3));
  const token = "sm1." + bytes.toString("base64url");
  expect(isToken(token)).toBe(true);
  expect(idOf(token)).toBe(bytes.subarray(0, 16).toString("base64url"));
  for (const other of ["sm1.", token + "A", token.slice(1), "6d0a0f0e-0000-4000-8000-000000000000"]) {
    expect(isToken(other)).toBe(false);
    expect(idOf(other)).toBe(other);
  }
});

test("which outcomes end a draft", () => {
  const of = (word: Parameters<typeof ends>[0]["word"], status: number) => ends({ id: "a", word, status });
  expect([of("executed", 303), of("replayed", 303), of("seen", 200), of("executed", 500)]).toEqual([true, true, true, true]);
  expect([of("in-flight", 409), of("unknown", 409), of("refused", 503), of("refused", 429), of("refused", 0)]).not.toContain(true);
  expect(of("refused", 302)).toBe(true); // sent to sign in: nothing was done, and the next page may have another reader
  expect(of("refused", 409)).toBe(true); // a token that is stale or another session's: nothing was done, and it is of no use
});

test("which pages end a draft by their status alone", () => {
  for (const status of [200, 204, 303, 400, 404, 422]) expect(definitivePage(status)).toBe(true);
  for (const status of [0, 100, 408, 409, 425, 429, 500, 503]) expect(definitivePage(status)).toBe(false);
});
