import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { semelFetch, type SemelInit } from "../src/fetch.js";
import { quoteKey } from "../src/key.js";
import { SemelError, waitAfter, type State } from "../src/send.js";
import { storage } from "./page.js";

/** What one attempt sent. */
interface Sent {
  url: string;
  key: string;
  init: RequestInit;
}

type Reply = Response | Error | "hang";

let sent: Sent[];
let replies: ((attempt: Sent) => Reply | Promise<Reply>)[];

beforeEach(() => {
  sent = [];
  replies = [];
  vi.useFakeTimers();
  vi.stubGlobal("sessionStorage", storage());
  vi.stubGlobal("localStorage", storage());
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    const one = { url, init, key: new Headers(init.headers).get("Idempotency-Key") ?? "" };
    sent.push(one);
    const reply = await (replies.shift() ?? (() => new Response("{}", { status: 201 })))(one);
    if (reply instanceof Error) throw reply;
    if (reply !== "hang") return reply;
    return new Promise((_, reject) => init.signal?.addEventListener("abort", () => reject(init.signal?.reason)));
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const url = "http://shop.test/api/orders";
const post = (body: BodyInit = "one"): RequestInit => ({ method: "POST", body });
const answer = (status: number, headers: HeadersInit = {}) => () => new Response("{}", { status, headers });
const problem = (status: number, type: string, headers: HeadersInit = {}) => () =>
  new Response(JSON.stringify({ type: `urn:semel:problem:${type}`, detail: "words" }), {
    status, headers: { "Content-Type": "application/problem+json", ...headers },
  });

/** Lets time pass until the call has ended. */
async function ended<T>(call: Promise<T>): Promise<T> {
  let done = false;
  call.then(() => (done = true), () => (done = true));
  for (let n = 0; !done && n < 1000; n++) await vi.advanceTimersByTimeAsync(500);
  expect(done, "the call ends").toBe(true);
  return call;
}

const send = (semel: SemelInit = {}, init = post()) => ended(semelFetch(url, init, semel));

async function failure(call: Promise<unknown>): Promise<SemelError> {
  const error = await ended(call.catch((reason: unknown) => reason));
  expect(error).toBeInstanceOf(SemelError);
  return error as SemelError;
}

describe("the key", () => {
  test("is the same for every attempt, and ends with a definitive answer", async () => {
    replies = [() => new TypeError("cut"), answer(503), problem(409, "in-flight"), answer(201)];
    expect((await send({ intent: "a" })).status).toBe(201);
    expect(new Set(sent.map((one) => one.key)).size).toBe(1);
    expect(sent).toHaveLength(4);
    expect(sent[0]!.key).toMatch(/^"[0-9a-f-]{36}"$/);
    await send({ intent: "a" });
    expect(sent[4]!.key).not.toBe(sent[0]!.key);
  });

  test("outlives a call that found no answer, and a reload", async () => {
    replies = [() => new TypeError("cut")];
    const error = await failure(semelFetch(url, post(), { intent: "a", attempts: 1 }));
    expect(error).toMatchObject({ kind: "network", retryable: true });
    vi.resetModules();
    const again = (await import("../src/fetch.js")).semelFetch;
    await ended(again(url, post(), { intent: "a" }));
    expect(sent[1]!.key).toBe(sent[0]!.key);
    expect(`"${error.key}"`).toBe(sent[0]!.key);
  });

  test.each([
    ["another body", url, post("two")],
    ["another address", url + "/7", post()],
    ["another method", url, { method: "PATCH", body: "one" }],
  ])("is new for %s", async (_, address, init) => {
    replies = [answer(503)];
    await failure(semelFetch(url, post(), { intent: "a", attempts: 1 }));
    await ended(semelFetch(address, init, { intent: "a" }));
    expect(sent[1]!.key).not.toBe(sent[0]!.key);
  });

  test("is kept while nobody knows the outcome, though the answer is definitive", async () => {
    replies = [problem(409, "outcome-unknown")];
    expect((await send({ intent: "a" })).status).toBe(409);
    await send({ intent: "a" });
    expect(sent[1]!.key).toBe(sent[0]!.key);
  });

  test("is one in each tab, or one in all of them", async () => {
    replies = [answer(503), answer(503)];
    await failure(semelFetch(url, post(), { intent: "all", attempts: 1 }));
    await failure(semelFetch(url, post(), { intent: "each", attempts: 1, shared: false }));
    vi.stubGlobal("sessionStorage", storage()); // another tab
    await send({ intent: "all" });
    await send({ intent: "each", shared: false });
    expect(sent[2]!.key).toBe(sent[0]!.key);
    expect(sent[3]!.key).not.toBe(sent[1]!.key);
  });

  test("may be the caller's, and without an intent each call has its own", async () => {
    await send({ key: "mine" });
    await send();
    await send();
    expect(sent[0]!.key).toBe('"mine"');
    expect(new Set(sent.map((one) => one.key)).size).toBe(3);
  });
});

describe("patience", () => {
  test("Retry-After in seconds and as a date is waited for", async () => {
    vi.setSystemTime(new Date("2026-11-22T12:00:00Z"));
    replies = [answer(503, { "Retry-After": "7" }), answer(429, { "Retry-After": "Sun, 22 Nov 2026 12:00:20 GMT" })];
    const at: number[] = [];
    await send({ onState: (state) => state.name === "sending" && at.push(Date.now()) });
    expect(at[1]! - at[0]!).toBeGreaterThanOrEqual(7000);
    expect(at[2]! - at[0]!).toBeGreaterThanOrEqual(20_000);
  });

  test("an unknown outcome that the server will find out is asked for again, under the same key", async () => {
    const unknown = () => new Response(JSON.stringify({ type: "urn:semel:problem:outcome-unknown", retryable: true }), {
      status: 409, headers: { "Content-Type": "application/problem+json", "Retry-After": "7" },
    });
    replies = [unknown];
    const at: number[] = [];
    expect((await send({ onState: (state) => state.name === "sending" && at.push(Date.now()) })).status).toBe(201);
    expect(at[1]! - at[0]!).toBeGreaterThanOrEqual(7000);
    expect(sent[1]!.key).toBe(sent[0]!.key);
    replies = [unknown, unknown];
    expect(await failure(semelFetch(url, post(), { attempts: 2 }))).toMatchObject({ kind: "unknown", retryable: true });
  });

  test("a wait that the caller has no patience for ends the call at once", async () => {
    replies = [problem(503, "store-unavailable", { "Retry-After": "3600" })];
    const before = Date.now();
    const error = await failure(semelFetch(url, post(), {}));
    expect(error).toMatchObject({ kind: "unavailable", retryable: true, message: "words" });
    expect(Date.now() - before).toBeLessThan(1001);
  });

  test("an attempt without an answer is followed by another", async () => {
    replies = [() => "hang"];
    expect((await send({ attemptTimeout: 2000 })).status).toBe(201);
    expect(sent).toHaveLength(2);
  });

  test("ends after so many attempts, or so much time", async () => {
    replies = Array.from({ length: 20 }, () => answer(503));
    expect((await failure(semelFetch(url, post(), { attempts: 3 }))).kind).toBe("unavailable");
    expect(sent).toHaveLength(3);
    replies = [() => "hang"];
    expect((await failure(semelFetch(url, post(), { timeout: 1000 }))).kind).toBe("timeout");
  });

  test("waits are drawn from everything up to a bound, and never shorter than asked for", () => {
    expect(waitAfter(1, 0, () => 0)).toBe(0);
    expect(waitAfter(1, 0, () => 1)).toBe(500);
    expect(waitAfter(4, 0, () => 1)).toBe(4000);
    expect(waitAfter(99, 0, () => 1)).toBe(20_000);
    expect(waitAfter(1, 9000, () => 1)).toBe(9000);
  });

  test("waits for the network", async () => {
    const page = new EventTarget();
    const navigator = { onLine: false };
    vi.stubGlobal("navigator", navigator);
    vi.stubGlobal("addEventListener", page.addEventListener.bind(page));
    vi.stubGlobal("removeEventListener", page.removeEventListener.bind(page));
    const states: State[] = [];
    const call = semelFetch(url, post(), { onState: (state) => states.push(state) });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(sent).toHaveLength(0);
    expect(states).toEqual([{ name: "offline", attempt: 1 }]);
    navigator.onLine = true;
    page.dispatchEvent(new Event("online"));
    await ended(call);
    expect(sent).toHaveLength(1);
    navigator.onLine = false;
    expect((await failure(semelFetch(url, post(), { timeout: 3000 }))).kind).toBe("offline");
    expect(sent).toHaveLength(1);
  });
});

describe("a long answer", () => {
  const megabyte = new Uint8Array(1 << 20);
  const long = (end: (control: ReadableStreamDefaultController) => void) => () => {
    let sent = 0;
    const body = new ReadableStream({ pull: (control) => (sent++ < 3 ? control.enqueue(megabyte) : end(control)) });
    return new Response(body, { status: 201 });
  };
  const key = async (): Promise<string> => {
    await send({ intent: "a" });
    return sent.at(-1)!.key;
  };

  test("ends its intent when its reader has come to the end", async () => {
    replies = [long((control) => control.close())];
    const response = await send({ intent: "a" });
    const again = response.clone();
    expect((await response.arrayBuffer()).byteLength).toBe(3 << 20);
    expect((await again.arrayBuffer()).byteLength).toBe(3 << 20);
    expect(await key()).not.toBe(sent[0]!.key);
  });

  test("is none without a body, whatever its type says", async () => {
    replies = [() => new Response(null, { status: 204, headers: { "Content-Type": "text/event-stream" } })];
    expect((await send({ intent: "a" })).status).toBe(204);
    expect(await key()).not.toBe(sent[0]!.key);
  });

  test("leaves its intent open when it breaks off, or its reader gives up", async () => {
    replies = [long((control) => control.error(new TypeError("cut"))), long((control) => control.close())];
    const response = await send({ intent: "a" });
    const error = await failure(response.text());
    expect(error).toMatchObject({ kind: "unknown", retryable: true, cause: new TypeError("cut") });
    expect(`"${error.key}"`).toBe(sent[0]!.key);
    const reader = (await send({ intent: "a" })).body!.getReader();
    await reader.read();
    await reader.cancel();
    expect(await key()).toBe(sent[0]!.key);
  });
});

describe("what is not repeated", () => {
  test.each([400, 401, 404, 409, 422])("%i is an answer", async (status) => {
    replies = [answer(status)];
    expect((await send()).status).toBe(status);
    expect(sent).toHaveLength(1);
  });

  test("bodies that can be read only once", async () => {
    const stream = new ReadableStream({ start: (control) => control.close() });
    expect((await failure(semelFetch(url, { method: "POST", body: stream, duplex: "half" } as RequestInit))).kind).toBe("not-repeatable");
    await expect(semelFetch(url)).rejects.toThrow(TypeError);
    expect(sent).toHaveLength(0);
  });

  test("every other body and a Request are sent again whole", async () => {
    const data = new FormData();
    data.append("name", "Ada");
    const bodies: BodyInit[] = ["text", new URLSearchParams({ a: "1" }), new Blob(["b"]), new Uint8Array([1, 2]), data];
    for (const body of bodies) {
      replies = [answer(503)];
      await send({ intent: "a" }, post(body));
    }
    replies = [answer(503)];
    await ended(semelFetch(new Request(url, { method: "POST", body: "from a request", headers: { "X-Own": "1" } })));
    for (let n = 0; n < sent.length; n += 2) {
      expect(sent[n + 1]!.key).toBe(sent[n]!.key);
      expect(sent[n + 1]!.init.body).toBe(sent[n]!.init.body);
    }
    expect(new TextDecoder().decode(sent.at(-1)!.init.body as ArrayBuffer)).toBe("from a request");
    expect(new Headers(sent.at(-1)!.init.headers).get("X-Own")).toBe("1");
  });
});

describe("calls at the same time", () => {
  test("of one intent share a request, and everyone can read the answer", async () => {
    replies = [async () => new Promise((resolve) => setTimeout(() => resolve(new Response('{"n":1}', { status: 201 })), 1000))];
    const calls = [1, 2, 3].map(() => semelFetch(url, post(), { intent: "a" }));
    const answers = await ended(Promise.all(calls));
    expect(sent).toHaveLength(1);
    for (const each of answers) expect(await each.json()).toEqual({ n: 1 });
  });

  const large = (last: string) => new Blob([new Uint8Array(3 << 20), last]);
  const form = (content: BlobPart) => {
    const data = new FormData();
    data.append("scan", new Blob([content]));
    return data;
  };
  test.each<[string, BodyInit, BodyInit]>([
    ["texts", "one", "two"],
    ["large Blobs", large("1"), large("2")],
    ["Blobs in forms", form("1"), form("2")],
  ])("with other content do not: %s", async (_, one, two) => {
    await ended(Promise.all([one, two].map((body) => semelFetch(url, post(body), { intent: "a" }))));
    expect(new Set(sent.map((each) => each.key)).size).toBe(2);
  });

  test("of a Blob that is made anew are one wish", async () => {
    replies = [answer(503), answer(503)];
    for (const body of [large("1"), form("1")]) await failure(semelFetch(url, post(body), { intent: "a", attempts: 1 }));
    await send({ intent: "a" }, post(form("1")));
    expect(sent[2]!.key).toBe(sent[1]!.key);
    expect(sent[1]!.key).not.toBe(sent[0]!.key);
  });

  test("one that stops waiting leaves the others their answer, and the last one stops the request", async () => {
    replies = [async () => new Promise((resolve) => setTimeout(() => resolve(new Response("{}", { status: 201 })), 1000))];
    const impatient = new AbortController();
    const first = semelFetch(url, post(), { intent: "a", signal: impatient.signal });
    const second = semelFetch(url, post(), { intent: "a" });
    await vi.advanceTimersByTimeAsync(100);
    impatient.abort(new Error("enough"));
    await expect(first).rejects.toThrow("enough");
    expect((await ended(second)).status).toBe(201);

    replies = [() => "hang"];
    const alone = new AbortController();
    const only = semelFetch(url, post(), { intent: "b", signal: alone.signal });
    await vi.advanceTimersByTimeAsync(100);
    alone.abort(new Error("enough"));
    await expect(only).rejects.toThrow("enough");
    expect(sent.at(-1)!.init.signal!.aborted).toBe(true);
    await send({ intent: "b" });
    expect(sent.at(-1)!.key).toBe(sent.at(-2)!.key); // the key is kept
  });
});

describe("the caller's key", () => {
  test.each([['"mine"', "mine"], ["mine", "mine"], ['"a \\"b\\" \\\\"; x=1', 'a "b" \\'], ["a\\b", "a\\b"]])("in the header %s is sent with every attempt, once", async (header, key) => {
    replies = [answer(503), answer(201), answer(503), answer(201)];
    const request = new Request(url, { ...post(), headers: { "idempotency-key": header } });
    for (const call of [() => semelFetch(url, { ...post(), headers: { "Idempotency-Key": header } }), () => semelFetch(request)]) await ended(call());
    expect(sent.map((one) => one.key)).toEqual(Array(4).fill(quoteKey(key)));
  });

  test("in the option goes before that of the header", async () => {
    await ended(semelFetch(url, { ...post(), headers: { "Idempotency-Key": "header" } }, { key: "option" }));
    expect(sent[0]!.key).toBe('"option"');
  });

  test("that is invalid is refused at once, not tried again", async () => {
    for (const key of ["", "å", "x".repeat(256)]) await expect(semelFetch(url, post(), { key })).rejects.toThrow(TypeError);
    expect(sent).toEqual([]);
  });
});

test("what would be sent without a key, under a key of others, or to no address is refused", async () => {
  const wrong = (...call: unknown[]) => expect((semelFetch as (...call: unknown[]) => Promise<Response>)(...call)).rejects.toThrow(TypeError);
  vi.stubGlobal("location", new URL("http://shop.test/page")); // to which an address may be relative
  await wrong(url, { ...post(), mode: "no-cors" });
  await wrong(new Request(url, { ...post(), mode: "no-cors" }));
  await wrong(url, post({ customer: "Ada" } as unknown as BodyInit));
  for (const address of [{ url }, undefined, null, [{}]]) await wrong(address, post());
  for (const semel of ["order 17", null, { intent: "" }, { intent: { id: 17 } }, { intent: 17 }]) await wrong(url, post(), semel);
  expect(sent).toEqual([]);
});
