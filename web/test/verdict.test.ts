import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Kind, type Problem, judge, maxProblemBytes, replayed, retryAfter, verdict } from "../src/verdict.js";

interface Case {
  condition: string;
  status: number;
  type: string;
  retryable: boolean;
  definitive: boolean;
  headers: Record<string, string | null>;
}

const { cases } = JSON.parse(readFileSync(new URL("../../testdata/vectors/errors.json", import.meta.url), "utf8")) as { cases: Case[] };

/** What each condition is to a person's program. */
const kinds: Record<string, Kind> = {
  "key-missing": "rejected", "key-invalid": "rejected", "scope-missing": "rejected", "body-too-large": "rejected",
  "form-stale": "rejected",
  "in-flight": "in-flight", mismatch: "mismatch", unknown: "unknown", "not-kept": "not-kept", unreadable: "not-kept",
  cancelled: "cancelled", duplicate: "duplicate", quota: "unavailable", unavailable: "unavailable", full: "unavailable",
  "shutting-down": "unavailable", "rolled-back": "unavailable", "commit-unknown": "unavailable",
  "held-too-long": "unavailable", internal: "unavailable",
};

function answer({ status, type, retryable, headers }: Case): Response {
  const present = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== null);
  return new Response(JSON.stringify({ type, status, retryable, detail: "words" }), { status, headers: present });
}

describe("the wire errors", () => {
  test("are all known here", () => {
    expect(cases.map((each) => each.condition).filter((name) => !(name in kinds))).toEqual([]);
    expect(cases.length).toBeGreaterThan(15);
  });

  test.each(cases)("$condition", async (each) => {
    const response = answer(each);
    const got = await verdict(response);
    expect(got.definitive).toBe(each.definitive);
    expect(got.kind).toBe(kinds[each.condition]);
    expect(got.ends).toBe(each.definitive && each.condition !== "unknown");
    expect(got.replayed).toBe(false);
    expect(got.problem?.type).toBe(each.type);
    const wait = each.headers["Retry-After"];
    expect(got.retryAfterMs).toBe(wait ? Number(wait) * 1000 : undefined);
    expect(((await response.json()) as { detail: string }).detail).toBe("words"); // it can still be read
  });
});

test("the status decides where no problem of ours is named", () => {
  const of = (status: number, type?: string) => judge(status, new Headers(), type ? { type } : undefined);
  for (const status of [200, 201, 204, 303]) expect(of(status)).toMatchObject({ kind: "done", definitive: true, ends: true });
  for (const status of [400, 401, 404, 409, 422]) expect(of(status)).toMatchObject({ kind: "rejected", definitive: true });
  for (const status of [408, 421, 425, 429, 500, 502, 503, 504]) {
    expect(of(status)).toMatchObject({ kind: "unavailable", definitive: false, ends: false });
  }
  expect(of(409, "https://example.org/in-flight").definitive).toBe(true);
  expect(of(409, "urn:semel:problem:constructor").definitive).toBe(true);
});

test("an unknown outcome that the server will find out is no answer yet", () => {
  const of = (retryable: unknown) => judge(409, new Headers({ "Retry-After": "7" }), { type: "urn:semel:problem:outcome-unknown", retryable } as Problem);
  expect(of(true)).toMatchObject({ kind: "unknown", definitive: false, ends: false, retryAfterMs: 7000 });
  for (const word of [false, undefined, "true"]) expect(of(word)).toMatchObject({ kind: "unknown", definitive: true, ends: false });
});

test("a failure that was recorded is the answer: a repetition brings it again", () => {
  for (const status of [408, 429, 500, 503]) {
    for (const headers of [{ "Idempotency-Status": "replayed" }, { "Idempotent-Replayed": "true" }]) {
      expect(judge(status, new Headers(headers as HeadersInit))).toMatchObject({ kind: "rejected", definitive: true, ends: true });
    }
    expect(judge(status, new Headers({ "Idempotency-Status": "executed" })).definitive).toBe(false);
  }
});

test("who asks to sign in says nothing of earlier attempts, unless it is this key's own answer", () => {
  const ends = (headers: HeadersInit) => judge(401, new Headers(headers));
  expect(ends({})).toMatchObject({ definitive: true, ends: false });
  expect(ends({ "Idempotency-Status": "executed" })).toMatchObject({ ends: true });
  expect(ends({ "Idempotent-Replayed": "true" })).toMatchObject({ ends: true });
});

test("the page at the end of a redirect to a sign-in page is no answer: the key is kept", async () => {
  const page = (url: string) => Object.defineProperties(new Response("<form>"), { redirected: { value: true }, url: { value: url } });
  expect(await verdict(page("https://shop.test/login?next=/orders"))).toMatchObject({ kind: "rejected", definitive: true, ends: false });
  expect(await verdict(page("https://shop.test/orders/7"))).toMatchObject({ kind: "done", definitive: true, ends: true });
  for (const status of [419, 440]) expect(judge(status, new Headers())).toMatchObject({ kind: "rejected", ends: false });
});

test("an answer that only calls itself a problem is judged by its status", async () => {
  const headers = { "Content-Type": "application/problem+json" };
  for (const body of ["", "{", "null", "7"]) {
    expect(await verdict(new Response(body, { status: 409, headers }))).toMatchObject({ kind: "rejected", definitive: true });
  }
  const long = '{"type":"urn:semel:problem:in-flight"}'.padEnd(maxProblemBytes + 1);
  expect((await verdict(new Response(long, { status: 409, headers }))).kind).toBe("rejected");
});

test("a problem document that breaks off, or has no end, is no answer", async () => {
  const headers = { "Content-Type": "application/problem+json" };
  const lost = new TypeError("cut");
  const cut = new ReadableStream({ pull: (control) => control.error(lost) });
  await expect(verdict(new Response(cut, { status: 409, headers }))).rejects.toBe(lost);
  const endless = new ReadableStream({ pull: (control) => control.enqueue(new Uint8Array(1 << 16)) });
  await expect(verdict(new Response(endless, { status: 409, headers }))).rejects.toThrow("without an end");
});

test("a replay is told by either header", () => {
  expect(replayed(new Response("", { headers: { "Idempotent-Replayed": "true" } }))).toBe(true);
  expect(replayed(new Response("", { headers: { "Idempotency-Status": "replayed" } }))).toBe(true);
  expect(replayed(new Response("", { headers: { "Idempotency-Status": "executed" } }))).toBe(false);
});

test("Retry-After in seconds and as a date", () => {
  const now = Date.UTC(2026, 10, 22, 12, 0, 0);
  expect(retryAfter("7", now)).toBe(7000);
  expect(retryAfter(" 0 ", now)).toBe(0);
  expect(retryAfter("Sun, 22 Nov 2026 12:00:30 GMT", now)).toBe(30_000);
  expect(retryAfter("Sat, 21 Nov 2026 12:00:30 GMT", now)).toBe(0);
  for (const wrong of [null, "", "-1", "1.5", "soon", "2026-11-22"]) expect(retryAfter(wrong, now)).toBeUndefined();
});
