import { describe, expect, test, vi } from "vitest";
import { maxEntries, maxEntryBytes, openQueue, Queue, QueueError, type Item } from "../src/queue/queue.js";
import { Database } from "../src/queue/database.js";
import { exclusively, held } from "../src/queue/exclusive.js";
import * as rows from "../src/queue/rows.js";
import { Browser, home, Server, until, type Fault } from "./queue-world.js";

const orders = `${home}/orders`;
const day = 24 * 60 * 60_000;

function setup(options: { leaseMs?: number } = {}) {
  const server = new Server();
  const browser = new Browser(server, () => 0.5, options.leaseMs);
  return { server, browser, ...browser.tab() };
}

const states = (items: readonly Item[]) => items.map(({ label, state, reason }) => [label, state, reason?.word]);

/** Adds an intent whose label and body are one word. */
function add(queue: Queue, word: string, more: object = {}) {
  return queue.add(orders, { body: { word }, label: word, ...more });
}

/** Faults in this order, then none. */
function faults(server: Server, ...list: Fault[]) {
  server.fault = () => list.shift() ?? "none";
}

describe("add", () => {
  test("resolves when the intent is on the disk, before anything is sent", async () => {
    const { server, browser, queue, kill } = setup();
    server.arrives = () => new Promise(() => undefined); // nothing ever gets an answer
    const added = await add(queue, "tea");
    kill();
    const next = browser.tab().queue;
    expect((await next.list()).map(({ id, key }) => ({ id, key }))).toEqual([{ id: added.id, key: added.key }]);
  });

  test("sends JSON, text, bytes and forms the same way each time", async () => {
    const { server, browser, queue } = setup();
    faults(server, "lose", "lose");
    const form = new FormData();
    form.set("what", "tea");
    form.set("picture", new Blob([new Uint8Array([1, 2, 3])]), "tea.png");
    await queue.add(orders, { body: form, keyField: "semel_key" });
    await queue.drain();
    for (let i = 0; i < 3; i++) {
      browser.now += day;
      await queue.drain();
    }
    expect(server.seen).toHaveLength(3);
    expect(new Set(server.seen.map(({ body }) => body)).size).toBe(1);
    expect(server.seen[0]!.body).toContain(`name="semel_key"\r\n\r\n${server.seen[0]!.key}\r\n`);
    for (const body of ["text", new URLSearchParams({ a: "b" }), new Blob(["blob"]), new Uint8Array([65]).buffer, null]) await queue.add(orders, { body });
    await queue.drain();
    expect(server.done.slice(1).map(({ body }) => body)).toEqual(["text", "a=b", "blob", "A", ""]);
  });

  test("refuses what is too much or makes no sense, and keeps nothing of it", async () => {
    const { queue } = setup();
    const code = (promise: Promise<unknown>) => promise.then(() => "resolved", (error: QueueError) => error.code);
    expect(await code(queue.add(orders, { body: "x".repeat(maxEntryBytes + 1) }))).toBe("too-large");
    expect(await code(queue.add("http://[", {}))).toBe("invalid");
    expect(await code(queue.add(orders, { fill: { "/a": "/id" } }))).toBe("invalid");
    expect(await code(queue.add(orders, { after: "x", fill: { "{a}": "/id" } }))).toBe("invalid");
    expect(await code(queue.add(orders, { after: "x", fill: { "/a": "id" } }))).toBe("invalid");
    expect(await code(queue.add(orders, { body: "text", keyField: "k" }))).toBe("invalid");
    expect(await code(queue.add(orders, { after: "nobody" }))).toBe("no-parent");
    expect(await queue.list()).toEqual([]);
    await queue.close();
    expect(await code(queue.add(orders))).toBe("closed");
  });

  test("refuses what no browser sends, and what would not be sent", async () => {
    vi.stubGlobal("location", new URL(home)); // to which an address may be relative
    const { server, queue } = setup();
    server.arrives = () => new Promise(() => undefined);
    const { id } = await queue.add(orders);
    const wrong = async (call: string, ...given: unknown[]) => {
      const method = queue[call as "add"].bind(queue) as (...given: unknown[]) => Promise<unknown>;
      await expect(method(...given), `${call}(${given.map(String).join(", ")})`).rejects.toMatchObject({ code: "invalid" });
    };
    for (const address of [undefined, null, {}, [{}], new Request(orders), "mailto:ada@shop.test", "data:,", "http://ada:secret@shop.test/"]) {
      await wrong("add", address);
      await wrong("edit", id, address);
    }
    await wrong("edit", id, { body: { item: "tea" } });
    for (const call of ["edit", "retry", "discard"]) for (const entry of [undefined, null, "", { id }, 7]) await wrong(call, entry, orders);
    for (const intent of [null, "tea", { item: "tea" }, { after: { id } }, { group: {} }, { label: 7 }, { keyField: 7 }]) await wrong("add", orders, intent);
    for (const method of ["GET", "head", "TRACE", "no method"]) await wrong("add", orders, { method });
    for (const headers of [{ "Idempotency-Key": "å" }, { "Idempotency-Key": "" }]) await wrong("add", orders, { headers });
    await wrong("add", orders, { credentials: "all" });
    expect((await queue.list()).map((entry) => entry.id)).toEqual([id]);
    expect(() => new Queue({ header: "no header" })).toThrow(TypeError);
    vi.unstubAllGlobals();
  });

  test("goes on under the key that a request had", async () => {
    const { server, queue } = setup();
    const entry = await queue.add(orders, { headers: { "idempotency-key": '"order \\"17\\""' } });
    expect(entry.key).toBe('order "17"');
    await queue.add(orders, { headers: { "Idempotency-Key": "order-18" } });
    await queue.drain();
    expect(server.seen.map(({ key }) => key)).toEqual([String.raw`order \"17\"`, "order-18"]);
  });

  test("takes so many entries and no more", async () => {
    const { server, queue } = setup();
    server.arrives = () => new Promise(() => undefined);
    for (let i = 0; i < maxEntries; i += 50) await Promise.all(Array.from({ length: 50 }, () => queue.add(orders)));
    await expect(queue.add(orders)).rejects.toMatchObject({ code: "queue-full" });
  }, 60_000);
});

describe("storage that does not work", () => {
  const failing = (open: () => IDBOpenDBRequest) => new Queue({ environment: { indexedDB: () => ({ open }) as unknown as IDBFactory, locks: undefined } });

  test.each([
    ["storage-disabled", new DOMException("no", "SecurityError")],
    ["storage-disabled", new TypeError("indexedDB is null")],
    ["storage-failed", new DOMException("no", "UnknownError")],
  ])("%s", async (code, error) => {
    const queue = failing(() => { throw error; });
    await expect(queue.add(orders)).rejects.toMatchObject({ name: "QueueError", code });
    await queue.drain();
    expect(queue.trouble?.code).toBe(code);
  });

  test.each([
    ["storage-disabled", "InvalidStateError", {}], // a private window
    ["storage-disabled", "UnknownError", null], // localStorage is denied as well
    ["storage-failed", "UnknownError", {}],
  ])("%s, said by an open that fails with %s", async (code, name, localStorage) => {
    vi.stubGlobal("localStorage", localStorage);
    const queue = failing(() => {
      const request = { error: new DOMException("no", name) } as IDBOpenDBRequest & { onerror(): void };
      queueMicrotask(() => request.onerror());
      return request;
    });
    await expect(queue.add(orders)).rejects.toMatchObject({ name: "QueueError", code });
    vi.unstubAllGlobals();
  });

  test("a database from the future", async () => {
    const { browser, queue } = setup();
    await new Promise((resolve) => (browser.factory.open("semel-queue", 99).onsuccess = resolve));
    await expect(add(queue, "tea")).rejects.toMatchObject({ code: "storage-newer" });
  });

  test("lets a newer version of the page change the layout, and then says so", async () => {
    const { browser, server, queue } = setup();
    server.arrives = () => new Promise(() => undefined);
    await add(queue, "tea");
    const newer = await new Promise<IDBDatabase>((resolve, reject) => {
      const request = browser.factory.open("semel-queue", 2);
      request.onblocked = () => reject(new Error("blocked"));
      request.onsuccess = () => resolve(request.result);
    });
    expect(newer.version).toBe(2);
    await expect(add(queue, "coffee")).rejects.toMatchObject({ code: "storage-newer" });
  });

  test("an older version that does not let go", async () => {
    const { browser, queue } = setup();
    const old = await new Promise<IDBDatabase>((resolve) => {
      const request = browser.factory.open("semel-queue", 1); // without the layout, and without onversionchange
      request.onsuccess = () => resolve(request.result);
    });
    const request = browser.factory.deleteDatabase("semel-queue"); // waits for the old one, and so does the queue
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const refused = expect(add(queue, "tea")).rejects.toMatchObject({ code: "storage-blocked" });
    for (let i = 0; i < 1_000 && vi.getTimerCount() === 0; i++) await new Promise(setImmediate);
    await vi.advanceTimersByTimeAsync(5_000);
    vi.useRealTimers();
    await refused;
    old.close();
    await new Promise((resolve) => (request.onsuccess = resolve));
    await add(queue, "coffee");
    expect((await queue.list()).map(({ label }) => label)).toEqual(["coffee"]);
  });

  test("a full disk: add says so, nothing of it is kept, what was kept is sent once", async () => {
    const { server, browser, queue } = setup();
    faults(server, "lose");
    await add(queue, "tea");
    await queue.drain();
    let full = true;
    const crowded = browser.tab({ environment: { indexedDB: () => crowding(browser.factory, () => full) } }).queue;
    await expect(add(crowded, "coffee")).rejects.toMatchObject({ code: "storage-full" });
    full = false;
    await crowded.hurry();
    expect(server.done.map(({ body }) => body)).toEqual(['{"word":"tea"}']);
    expect(states(await crowded.list())).toEqual([["tea", "done", undefined]]);
  });

  /** A factory whose databases take no new entry while full. */
  function crowding(factory: IDBFactory, full: () => boolean): IDBFactory {
    const open = (name: string, version: number) => {
      const request = factory.open(name, version);
      request.addEventListener("success", () => {
        const database = request.result;
        const transaction = database.transaction.bind(database);
        database.transaction = ((...args: Parameters<typeof transaction>) => {
          const tx = transaction(...args);
          const objectStore = tx.objectStore.bind(tx);
          tx.objectStore = (store: string) => {
            const found = objectStore(store);
            if (full()) found.add = () => { throw new DOMException("full", "QuotaExceededError"); };
            return found;
          };
          return tx;
        }) as typeof transaction;
      });
      return request;
    };
    return { open } as unknown as IDBFactory;
  }
});

describe("sending", () => {
  test("a lost answer is asked for again under the same key, and happens once", async () => {
    const { server, browser, queue } = setup();
    faults(server, "lose", "cut");
    await add(queue, "tea");
    await queue.drain();
    expect(states(await queue.list())).toEqual([["tea", "waiting", "no-answer"]]);
    await queue.drain();
    expect(server.seen, "not before its time").toHaveLength(1);
    for (let i = 0; i < 2; i++) {
      browser.now += day;
      await queue.drain();
    }
    expect(new Set(server.seen.map(({ key }) => key)).size).toBe(1);
    expect([server.seen.length, server.done.length]).toEqual([3, 1]);
    expect((await queue.list())[0]).toMatchObject({ state: "done", attempts: 3, answer: { status: 201 } });
  });

  test.each<[Fault, string, number]>([
    ["503", "unavailable", 1_000], ["retry-after", "unavailable", 7_000], ["throttled", "unavailable", 1_000], ["in-flight", "in-flight", 1_000],
  ])("%s: later, not before its time; a clock that is set back ends the wait", async (fault, word, most) => {
    const { server, browser, queue } = setup();
    faults(server, fault);
    await add(queue, "tea");
    await queue.hurry();
    expect(states(await queue.list())).toEqual([["tea", "waiting", word]]);
    await queue.hurry();
    expect(server.seen, "the network's coming back does not change it").toHaveLength(1);
    browser.now += most / 4;
    await queue.drain();
    browser.now -= 3_000; // a correction by a time server is not a reason
    await queue.drain();
    expect(server.seen).toHaveLength(1);
    browser.now -= 30 * day; // it does not wait for a month
    await queue.drain();
    expect(server.done).toHaveLength(1);
  });

  test("keeps the order of a group, and lets other groups go on", async () => {
    const { server, browser, queue } = setup();
    server.fault = () => (server.seen.at(-1)!.body.includes("a1") && browser.now < Date.UTC(2026, 0, 2) ? "drop" : "none");
    for (const word of ["a1", "a2", "b1", "a3", "b2"]) await add(queue, word, { group: word[0] });
    await queue.drain();
    expect(server.done.map(({ body }) => JSON.parse(body).word)).toEqual(["b1", "b2"]);
    browser.now += 2 * day;
    await queue.drain();
    expect(server.done.map(({ body }) => JSON.parse(body).word)).toEqual(["b1", "b2", "a1", "a2", "a3"]);
  });

  test("what was set aside holds back nobody but what needs it, and tells why", async () => {
    const { server, queue } = setup();
    server.refuses = ({ body }) => body.includes("poison");
    const poison = await add(queue, "poison");
    await add(queue, "child", { after: poison.id });
    const behind = await add(queue, "behind");
    await add(queue, "other", { after: behind.id });
    await queue.drain();
    expect(states(await queue.list())).toEqual([
      ["poison", "set-aside", "rejected"], ["child", "waiting", "parent-set-aside"], ["behind", "done", undefined], ["other", "done", undefined],
    ]);
    expect((await queue.list())[0]!.reason).toEqual({ word: "rejected", status: 422, detail: "no such thing" });
    await queue.retry(poison.id); // the same key, the same answer
    await queue.drain();
    expect(server.seen.filter(({ key }) => key === poison.key)).toHaveLength(2);
    const edited = await queue.edit(poison.id, orders, { body: { word: "cure" }, label: "cure" });
    await queue.drain();
    expect(edited.key).not.toBe(poison.key);
    expect(states(await queue.list()).map(([label, state]) => `${label} ${state}`)).toEqual(["cure done", "child done", "behind done", "other done"]);
    expect(server.done.map(({ body }) => JSON.parse(body).word)).toEqual(["behind", "other", "cure", "child"]);
  });

  test("discarding a parent sets its children aside", async () => {
    const { server, queue } = setup();
    server.refuses = ({ body }) => body.includes("poison");
    const poison = await add(queue, "poison");
    const child = await add(queue, "child", { after: poison.id });
    await queue.drain();
    await queue.discard(poison.id);
    expect(states(await queue.list())).toEqual([["child", "set-aside", "parent-discarded"]]);
    await queue.discard(child.id);
    expect(await queue.list()).toEqual([]);
    await expect(queue.discard(child.id)).rejects.toMatchObject({ code: "not-found" });
  });

  test("what is being sent cannot be changed", async () => {
    const { server, queue } = setup();
    let go: () => void = () => undefined;
    server.arrives = () => new Promise((resolve) => (go = resolve));
    const tea = await add(queue, "tea");
    await until(() => server.seen.length === 1);
    await expect(queue.discard(tea.id)).rejects.toMatchObject({ code: "being-sent" });
    go();
    await queue.drain();
    expect(server.done).toHaveLength(1);
  });

  test("a mismatch, an unknown outcome and a cancelled one are set aside; one that was done is done", async () => {
    const problems = { "key-reused": 422, "outcome-unknown": 409, cancelled: 409, "response-not-kept": 409, "response-unreadable": 409, duplicate: 409 };
    const found: Record<string, unknown> = {};
    for (const [type, status] of Object.entries(problems)) {
      const answer = () => Promise.resolve(new Response(JSON.stringify({ type: `urn:semel:problem:${type}`, detail: "why" }), {
        status, headers: { "Content-Type": "application/problem+json" },
      }));
      const { queue } = new Browser(new Server()).tab({ environment: { fetch: answer } });
      await add(queue, "tea");
      await queue.drain();
      const [tea] = await queue.list();
      found[type] = [tea!.state, tea!.reason?.word];
    }
    expect(found).toEqual({
      "key-reused": ["set-aside", "mismatch"], "outcome-unknown": ["set-aside", "unknown"], cancelled: ["set-aside", "cancelled"],
      "response-not-kept": ["done", "not-kept"], "response-unreadable": ["done", "not-kept"], duplicate: ["done", "not-kept"],
    });
  });
});

describe("an answer that the server will find out", () => {
  /** What the server answers to each attempt, in order; the last one from then on. */
  async function outcomes(...answers: (() => Response)[]) {
    const keys: (string | null)[] = [];
    const browser = new Browser(new Server());
    const { queue } = browser.tab({ environment: {
      fetch: (_, init) => {
        keys.push(new Headers(init?.headers).get("Idempotency-Key"));
        return Promise.resolve((answers.length > 1 ? answers.shift()! : answers[0]!)());
      },
    } });
    await add(queue, "tea");
    await queue.drain();
    return { keys, browser, queue };
  }
  const unknown = () => new Response(JSON.stringify({ type: "urn:semel:problem:outcome-unknown", retryable: true }), {
    status: 409, headers: { "Content-Type": "application/problem+json", "Retry-After": "60" },
  });

  test("is asked for again under the same key, when the server says", async () => {
    const { keys, browser, queue } = await outcomes(unknown, () => Response.json({ id: 1 }, { status: 201 }));
    expect(states(await queue.list())).toEqual([["tea", "waiting", "unknown"]]);
    browser.now += 59_000;
    await queue.hurry();
    expect(keys).toHaveLength(1);
    browser.now += 1_000;
    await queue.drain();
    expect(states(await queue.list())).toEqual([["tea", "done", undefined]]);
    expect(new Set(keys).size).toBe(1);
    expect(keys).toHaveLength(2);
  });

  test("is not a failure that was recorded: that is for the person", async () => {
    const failed = () => new Response("failed", { status: 500, headers: { "Idempotency-Status": "replayed" } });
    const { queue } = await outcomes(failed);
    expect(states(await queue.list())).toEqual([["tea", "set-aside", "rejected"]]);
  });
});

describe("parents and children", () => {
  test("values of the parent's answer go into the body and the address", async () => {
    const { server, queue } = setup();
    const parent = await add(queue, "order", { group: "a" });
    await queue.add(`${orders}/{order}/lines/{place}`, {
      body: { item: "tea", of: {} }, after: parent.id, group: "b", fill: { "{order}": "/id", "{place}": "/of/a~1b", "/of/order": "/id" },
    });
    await queue.drain();
    expect(server.done.map(({ url, body }) => [url, body])).toEqual([
      [orders, '{"word":"order"}'], [`${orders}/1/lines/x%20y`, '{"item":"tea","of":{"order":1}}'],
    ]);
    // A parent that is done gives its values at once.
    await queue.add(`${orders}/{order}/lines`, { body: {}, after: parent.id, fill: { "{order}": "/id" } });
    await queue.drain();
    expect(server.done.at(-1)!.url).toBe(`${orders}/1/lines`);
  });

  test("an answer without them sets the child aside", async () => {
    const { server, queue } = setup();
    const parent = await add(queue, "order");
    for (const fill of [{ "/order": "/nothing" }, { "/no/such/place": "/id" }, { "/__proto__/polluted": "/id" }]) await add(queue, "line", { after: parent.id, fill });
    await queue.drain();
    expect(states(await queue.list()).slice(1)).toEqual(Array(3).fill(["line", "set-aside", "parent-answer"]));
    expect(server.done).toHaveLength(1);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

describe("people", () => {
  test("signed out: everything waits, nothing is set aside; signing in sends it", async () => {
    const { server, browser, queue } = setup();
    let signedIn = false;
    server.fault = () => (signedIn ? "none" : "401");
    await add(queue, "tea", { group: "a" });
    await queue.drain();
    await add(queue, "coffee", { group: "b" });
    await queue.drain();
    expect(server.seen, "one attempt shows it for all").toHaveLength(1);
    expect(states(await queue.list())).toEqual([["tea", "waiting", "sign-in"], ["coffee", "waiting", undefined]]);
    signedIn = true;
    await queue.resume();
    await queue.drain();
    expect(server.done).toHaveLength(2);
    signedIn = false;
    await add(queue, "milk");
    await queue.drain();
    signedIn = true;
    const page = browser.tab().queue; // the page after signing in
    await page.drain();
    expect(server.done).toHaveLength(3);
  });

  test("entries of another owner are never sent, not by a tab of theirs either", async () => {
    const { server, browser } = setup();
    faults(server, "drop");
    const ann = browser.tab({ owner: "ann" }).queue;
    await add(ann, "of ann");
    await ann.drain();
    const bob = browser.tab({ owner: "bob" }).queue;
    await add(bob, "of bob");
    await bob.drain();
    browser.now += day;
    await ann.hurry(); // the tab is still open, but bob's cookies would go out with it
    await bob.hurry();
    expect(server.done.map(({ body }) => JSON.parse(body).word)).toEqual(["of bob"]);
    expect((await bob.list()).map(({ label }) => label)).toEqual(["of bob"]);
    const annAgain = browser.tab({ owner: "ann" }).queue;
    await annAgain.hurry();
    expect(server.done.map(({ body }) => JSON.parse(body).word)).toEqual(["of bob", "of ann"]);
    await annAgain.signOut();
    await add(bob, "later");
    await bob.hurry();
    expect(server.done).toHaveLength(2);
  });

  test("fresh headers come with each attempt and are not kept", async () => {
    const { server, browser } = setup();
    faults(server, "lose");
    let n = 0;
    const { queue } = browser.tab({ headers: () => ({ Authorization: `token ${++n}` }) });
    await add(queue, "tea");
    await queue.drain();
    await queue.hurry();
    expect(server.seen.map(({ authorization }) => authorization)).toEqual(["token 1", "token 2"]);
  });
});

test("headers that never come do not hold up the end", async () => {
  const { browser } = setup();
  let asked = false;
  const { queue } = browser.tab({ headers: () => ((asked = true), new Promise<HeadersInit>(() => undefined)) });
  await add(queue, "tea");
  await until(() => asked);
  await queue.close();
  await browser.tab().queue.drain(); // the right to send was given back
  expect(browser.server.done).toHaveLength(1);
});

test.each(["the page", "the service worker"])("a database that was deleted under the queue, and %s makes it anew: what is added afterwards is sent", async (by) => {
  const { browser, server, queue } = setup();
  await add(queue, "tea");
  await queue.drain();
  await new Promise((resolve) => (browser.factory.deleteDatabase("semel-queue").onsuccess = resolve));
  if (by === "the service worker") await browser.tab({ owner: undefined }).queue.drain(); // it knows no owner
  await add(queue, "coffee");
  await queue.drain();
  expect(server.done.map(({ body }) => JSON.parse(body).word)).toEqual(["tea", "coffee"]);
});

test("a connection that the browser closes does not sign in again a person that has signed out", async () => {
  const { browser, server, queue } = setup();
  const opened: IDBDatabase[] = [];
  const open = (name: string, version: number) => {
    const request = browser.factory.open(name, version);
    request.addEventListener("success", () => opened.push(request.result));
    return request;
  };
  const tab = browser.tab({ environment: { indexedDB: () => ({ open }) as IDBFactory } });
  await add(tab.queue, "tea");
  await tab.queue.drain();
  await queue.signOut();
  expect(opened).toHaveLength(1);
  opened[0]!.onclose?.(new Event("close"));
  await add(tab.queue, "coffee");
  await tab.queue.drain();
  expect(opened).toHaveLength(2);
  expect(server.done.map(({ body }) => JSON.parse(body).word)).toEqual(["tea"]);
});

describe("tabs", () => {
  test("a tab that dies while it sends leaves the rest to the next, under the same key", async () => {
    const { server, browser, queue, kill } = setup();
    faults(server, "none");
    server.arrives = async () => (await Promise.resolve(), kill(), server.arrives = () => undefined, undefined);
    await add(queue, "tea");
    await until(() => server.done.length === 1);
    const next = browser.tab().queue;
    expect(states(await next.list())).toEqual([["tea", "sending", undefined]]);
    await next.drain();
    expect(states(await next.list())).toEqual([["tea", "done", undefined]]);
    expect([server.seen.length, server.done.length]).toEqual([2, 1]);
  });

  test.each([["with Web Locks", undefined], ["without", 200]])("two tabs %s send one at a time", async (_, leaseMs) => {
    const { server, browser, queue } = setup(leaseMs === undefined ? {} : { leaseMs });
    let inside = 0;
    let most = 0;
    server.arrives = async () => {
      most = Math.max(most, ++inside);
      await new Promise((resolve) => setTimeout(resolve, 5));
      inside--;
    };
    const other = browser.tab().queue;
    for (let i = 0; i < 5; i++) await Promise.all([add(queue, `a${i}`), add(other, `b${i}`)]);
    await Promise.all([queue.drain(), other.drain()]);
    await until(() => server.done.length === 10);
    expect(most).toBe(1);
    expect(server.seen).toHaveLength(10);
    const order = (await queue.list()).map(({ label }) => label);
    expect(server.done.map(({ body }) => JSON.parse(body).word)).toEqual(order);
  });

  test("without Web Locks: the right of a tab that died is taken when its time has passed, not before", async () => {
    const { server, browser, queue, kill } = setup({ leaseMs: 300 });
    server.arrives = () => new Promise(() => undefined);
    await add(queue, "tea");
    await until(() => server.seen.length === 1);
    kill();
    server.arrives = () => undefined;
    const start = performance.now();
    const next = browser.tab().queue;
    await next.drain();
    expect(performance.now() - start).toBeGreaterThanOrEqual(300);
    expect(server.done).toHaveLength(1);
  });

  test("without Web Locks: who lost the right cannot begin to send", async () => {
    const { browser } = setup();
    const database = new Database("semel-queue", () => browser.factory);
    await rows.setOwner(database, "");
    const fresh = { id: "1", key: "k", owner: "", url: orders, method: "POST", headers: [], credentials: "omit", group: "", label: "", createdAt: 0, attempts: 0, state: "waiting" } as const;
    const entry = await rows.add(database, { ...fresh, headers: [] }, null);
    const options = { name: "semel-queue", database, signal: new AbortController().signal, locks: undefined, leaseMs: 1_000 };
    const past = await exclusively(options, (lease) => Promise.resolve(lease));
    expect(await rows.begin(database, entry, past), "given back").toBe("forbidden");
    await exclusively(options, async (lease) => {
      expect(await rows.begin(database, entry, past), "held by another one").toBe("forbidden");
      expect(lease.row!.fence).toBeGreaterThan(past.row!.fence);
      database.putLast("given-back", past.row); // late, and without effect
      expect(await rows.begin(database, entry, lease)).toMatchObject({ entry: { state: "sending", attempts: 1 } });
      database.putLast("given-back", lease.row);
      const again = { ...entry, state: "sending", attempts: 1 } as const;
      await until(async () => (await database.transact("readonly", (tx) => held(tx, lease))) === false);
      expect(await rows.begin(database, again, lease), "given back on leaving").toBe("forbidden");
    });
  });

  test("other tabs learn of changes", async () => {
    const { browser, queue } = setup();
    const other = browser.tab().queue;
    const heard = new Promise<void>((resolve) => void other.subscribe(resolve));
    await add(queue, "tea");
    await heard;
  });

  test("openQueue sends what an earlier page left", async () => {
    const { server, browser, queue } = setup();
    faults(server, "drop");
    await add(queue, "tea");
    await queue.close();
    const environment = { indexedDB: () => browser.factory, fetch: server.fetch, locks: undefined };
    openQueue({ environment });
    await until(() => server.done.length === 1);
  });
});
