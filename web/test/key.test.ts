import { afterEach, expect, test, vi } from "vitest";
import { maxKeyLength, newKey, quoteKey } from "../src/key.js";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

afterEach(() => vi.unstubAllGlobals());

test("keys are UUIDs, also where randomUUID is missing", () => {
  expect(newKey()).toMatch(uuid);
  vi.stubGlobal("crypto", { getRandomValues: crypto.getRandomValues.bind(crypto) });
  const keys = Array.from({ length: 1000 }, newKey);
  for (const key of keys) expect(key).toMatch(uuid);
  expect(new Set(keys).size).toBe(1000);
  for (const at of [0, 7, 9, 20, 35]) expect(new Set(keys.map((key) => key[at])).size).toBe(16);
});

test("a key is a quoted string on the wire", () => {
  expect(quoteKey("abc")).toBe('"abc"');
  expect(quoteKey('a"b\\c')).toBe('"a\\"b\\\\c"');
  expect(quoteKey("x".repeat(maxKeyLength))).toHaveLength(maxKeyLength + 2);
  for (const wrong of ["", "å", "a\nb", "x".repeat(maxKeyLength + 1)]) expect(() => quoteKey(wrong)).toThrow(TypeError);
});
