import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { contentOf, digest, hash } from "../src/digest.js";

function form(...fields: [string, string | File][]): FormData {
  const data = new FormData();
  for (const [name, value] of fields) data.append(name, value);
  return data;
}

const of = (data: FormData) => digest(contentOf(data, new Set(["semel_key"])));

test("the same content has the same digest, whatever keys and tokens against forgery", () => {
  const one = of(form(["semel_key", "a"], ["csrf_token", "x"], ["name", "Ada"]));
  expect(of(form(["name", "Ada"], ["semel_key", "b"], ["csrf_token", "y"]))).toBe(one);
  expect(one).toMatch(/^[0-9a-f]{32}$/);
});

test("what changes with every rendering is no content, in the script as on the server", () => {
  const fields = JSON.parse(readFileSync(new URL("../../testdata/vectors/formfields.json", import.meta.url), "utf8")) as Record<"ignored" | "content", string[]>;
  expect(fields.ignored.filter((name) => contentOf(form([name, "x"])).length > 0)).toEqual([]);
  expect(fields.content.filter((name) => contentOf(form([name, "x"])).length !== 1)).toEqual([]);
  expect(fields.ignored.length).toBeGreaterThan(50);
});

test("other content has another digest", () => {
  const all = [
    form(["name", "Ada"]), form(["name", "Bob"]), form(["name", "Ada"], ["name", "Ada"]), form(["a", "1"], ["b", "2"]),
    form(["b", "2"], ["a", "1"]), form(["a", "1b"], ["", "2"]), form(["a", ""]), form(),
    form(["f", new File(["abc"], "n", { lastModified: 1 })]), form(["f", new File(["abcd"], "n", { lastModified: 1 })]),
    form(["f", new File(["abc"], "m", { lastModified: 1 })]), form(["f", new File(["abc"], "n", { lastModified: 2 })]),
  ].map(of);
  expect(new Set(all).size).toBe(all.length);
});

test("one changed bit changes about half of the digest", () => {
  let changed = 0;
  const runs = 400;
  for (let n = 0; n < runs; n++) {
    const a = BigInt("0x" + hash(`invoice ${n} for Ada`));
    const b = BigInt("0x" + hash(`invoice ${n} for Adb`));
    changed += (a ^ b).toString(2).replaceAll("0", "").length;
  }
  expect(changed / runs).toBeGreaterThan(56);
  expect(changed / runs).toBeLessThan(72);
});

test("no two of many short texts meet, not even in a quarter of the digest", () => {
  const seen = new Set<string>();
  for (let n = 0; n < 20_000; n++) seen.add(hash(String(n)).slice(0, 16));
  expect(seen.size).toBe(20_000);
});
