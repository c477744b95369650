import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { onlyReads } from "../src/graphql.js";
import { contentNow, contentOfBody } from "../src/page-content.js";
import { type Asked, matches, note, type Route } from "../src/page-route.js";
import { storage } from "./page.js";

const vectors = (name: string): unknown => JSON.parse(readFileSync(new URL(`../../testdata/vectors/${name}.json`, import.meta.url), "utf8"));

test.each([
  ["/api/orders", "/api/orders", true],
  ["/api/orders", "/api/orders/", false],
  ["/api/orders", "/api/orders/7", false],
  ["/api/orders/{id}", "/api/orders/7", true],
  ["/api/orders/{id}", "/api/orders/", false],
  ["/api/orders/{id}", "/api/orders/7/lines", false],
  ["/api/orders/{id}/lines", "/api/orders/7/lines", true],
  ["/api/{rest...}", "/api/orders/7", true],
  ["/api/{rest...}", "/api/", true],
  ["/api/{rest...}", "/api", false],
  ["/api/", "/api/orders/7", true],
  ["/api/", "/api", false],
  ["/api/{$}", "/api/", true],
  ["/api/{$}", "/api/x", false],
  ["/", "/anything", true],
  ["/a.b", "/axb", false],
  ["/best%C3%A4ll", "/best%C3%A4ll", false],
  ["/beställ", "/best%C3%A4ll", true],
  ["/api/orders", "/api//orders", true],
  ["/api/orders/{id}", "/api/orders/a%2Fb", true],
  ["/api/orders/{id}/lines", "/api/orders/a%2Flines", false],
])("the pattern %s, the path %s: %s", (pattern, path, want) => expect(matches(pattern, path)).toBe(want));

test.each<[string, boolean, string?]>([
  ["{ orders { id } }", true],
  ["query Orders($a: In = {b: 1}) @live { orders(a: $a) { id } }", true],
  ["subscription S { ticks }", true],
  ["mutation Add { add { id } }", false],
  ["# query\nmutation { add }", false],
  ["fragment F on Order { id }\nmutation Add { add { ...F } }", false],
  ["fragment mutation on Order { id } query { a { ...mutation } }", true],
  ['query { say(text: "} mutation {") }', true],
  ['query { say(text: """ "quoted" \\""" } mutation { """) }', true],
  ['query { say(text: "\\"} mutation M { x }") }', true],
  ["query A { a } mutation B { b }", false],
  ["query A { a } mutation B { b }", true, "A"],
  ["query A { a } mutation B { b }", false, "B"],
  ["query A { a } mutation B { b }", false, "C"],
  ["query { mutation }", true],
  ["\ufeff,, query{a}", true],
  ["query @include(if: true) { a }", true],
  ["shoes", false],
  ["query", false],
  ["query A { a", false],
  ["fragment F on A { a }", false],
  ["type Query { a: Int }", false],
  ["", false],
])("%s only reads: %s", (document, want, name) => expect(onlyReads(document, name)).toBe(want));

const route: Route = { name: "orders", methods: ["POST"], path: "/api/orders", header: "Idempotency-Key" };
const asked = (more: Partial<Route> = {}, action: string | null = null): Asked => ({ route: { ...route, ...more }, method: "POST", url: "http://a/api/orders", action });
const known = (body: unknown, more?: Partial<Route>) => String(contentNow(body, asked(more)));

describe("content", () => {
  const { json } = vectors("fingerprints") as { json: { texts: string[]; digest: string | null }[] };

  test("JSON that means the same has one digest, as on the server; other JSON has another", () => {
    expect(json.length).toBeGreaterThan(20);
    const all = json.filter(({ digest }) => digest !== null).map(({ texts }) => [...new Set(texts.map((text) => known(text)))]);
    expect(all.filter((group) => group.length !== 1)).toEqual([]);
    expect(new Set(all.flat()).size).toBe(all.length);
  });

  test("named headers are content", () => {
    const said = (value: string): string => {
      const request = asked({ headers: ["X-Action"] });
      note(request, new Headers({ "X-Action": value, "X-Request-Id": value }));
      return String(contentNow("{}", request));
    };
    expect(said("a")).toBe(said("a"));
    expect(said("a")).not.toBe(said("b"));
    expect(known("{}", { headers: ["X-Action"] })).toBe(known("{}"));
  });

  test("fields that are ignored, or change with every rendering, do not count", () => {
    const ignore = { ignore: ["nonce"] };
    expect(known('{"a":1,"nonce":2,"csrf_token":3}', ignore)).toBe(known('{"a":1,"nonce":4}', ignore));
    expect(known('{"a":1,"nonce":2}')).not.toBe(known('{"a":1,"nonce":4}'));
    expect(known('{"a":{"nonce":2}}', ignore)).not.toBe(known('{"a":{"nonce":4}}', ignore));
    expect(known(new URLSearchParams("a=1&nonce=2&_csrf=x"), ignore)).toBe(known(new URLSearchParams("_csrf=y&a=1&nonce=4"), ignore));
  });

  test("bytes, Blobs and files count by what they hold, and long ones are left alone", async () => {
    const later = async (body: unknown) => String(await contentOfBody(body, asked()));
    const form = (text: string, name = "a.png") => {
      const data = new FormData();
      data.append("file", new Blob([text]), name);
      return data;
    };
    expect(known(new TextEncoder().encode('{"b":1, "a":2}'))).toBe(known('{"a":2,"b":1}'));
    expect(await later(new Blob(["abc"]))).toBe(await later(new Blob(["abc"])));
    expect(await later(new Blob(["abc"]))).not.toBe(await later(new Blob(["abd"])));
    expect(await later(form("abc"))).toBe(await later(form("abc")));
    expect(await later(form("abc"))).not.toBe(await later(form("abd")));
    expect(await later(form("abc"))).not.toBe(await later(form("abc", "b.png")));
    const long = new Uint8Array((1 << 20) + 1);
    for (const body of [long, new Blob([long]), "x".repeat(long.length)]) expect(await later(body)).toBe("large");
    expect(await later(new File([long], "film.mp4", { lastModified: 7 }))).toBe(await later(new File([long], "film.mp4", { lastModified: 7 })));
    expect(known(new ReadableStream())).toBe("stream");
    const one = new Blob(["abc"]);
    expect(known(one)).toBe(known(one)); // what cannot be read in time is known by its identity
    expect(known(one)).not.toBe(known(new Blob(["abc"])));
  });

  test("GraphQL that only reads gets no key", () => {
    const query = { query: "query A { a } mutation B { b }", operationName: "A" };
    const send = (value: unknown, more?: Partial<Route>) => known(JSON.stringify(value), more);
    expect(send(query)).toBe("");
    expect(send({ ...query, operationName: "B" })).toMatch(/^\w{32}$/);
    expect(send([query, query])).toBe("");
    expect(send([query, { query: "mutation { b }" }])).toMatch(/^\w{32}$/);
    expect(send([])).toMatch(/^\w{32}$/);
    expect(send(query, { graphql: false })).toMatch(/^\w{32}$/);
    expect(send({ query: "shoes" })).toMatch(/^\w{32}$/);
    expect(send({ extensions: { persistedQuery: { sha256Hash: "ab" } } }, { graphql: true })).toMatch(/^\w{32}$/);
    const upload = new FormData();
    upload.append("operations", JSON.stringify({ query: "{ a }" }));
    expect(known(upload)).toBe("");
    upload.set("operations", JSON.stringify({ query: "mutation($f: Upload!) { put(f: $f) }" }));
    expect(known(upload)).toMatch(/^\w{32}$/);
  });

  test("a React Server Action is its arguments, without the previous state where the form says that there is one", () => {
    const form = (state: string, item: string, drawn: boolean) => {
      const data = new FormData();
      if (drawn) for (const name of ["_1_$ACTION_REF_2", "_1_$ACTION_2:1", "_1_$ACTION_KEY"]) data.append(name, state);
      data.append("_1_item", item);
      data.append("0", `[${state},"$K1"]`);
      return contentNow(data, asked({}, "7f00"));
    };
    expect(form('{"n":1}', "tea", true)).toEqual(form('{"n":2}', "tea", true));
    expect(form('{"n":1}', "tea", true)).not.toEqual(form('{"n":1}', "milk", true));
    const [[first, rough], [second, again]] = [form('{"n":1}', "tea", false), form('{"n":2}', "tea", false)] as unknown as [string[], string[]];
    expect(first).not.toBe(second); // a button may be bound to it
    expect(rough).toBe(again); // but counts as the state within a click sequence
    expect(contentNow("[1,2]", asked({}, "a"))).not.toEqual(contentNow("[1,2]", asked({}, "b")));
    expect(contentNow("[1,2]", asked({}, "a"))).not.toEqual(contentNow("[1,3]", asked({}, "a")));
  });
});

interface Case {
  name: string;
  doors?: string[];
  steps: [act: string, what?: string | number, gets?: string][];
}

interface Answer {
  status?: number;
  body?: BodyInit | null;
  headers?: Record<string, string>;
  error?: Error;
}

describe("a page", () => {
  let listeners: [type: string, listener: (event: object) => void][];
  let sent: { url: string; init: RequestInit; key: string | null; answer: (answer?: Answer) => void }[];
  const routes = [route, { ...route, name: "upload", path: "/api/{rest...}", header: "X-Key" }];

  const open = async (): Promise<void> => {
    listeners = [];
    vi.resetModules();
    Reflect.deleteProperty(globalThis, Symbol.for("semel-page"));
    vi.stubGlobal("fetch", (url: string, init: RequestInit = {}) =>
      new Promise((resolve, reject) => {
        const request = (url as unknown) instanceof Request ? (url as unknown as Request) : undefined;
        const headers = request?.headers ?? new Headers(init.headers);
        const answer = ({ status = 201, body = "{}", headers: more = {}, error }: Answer = {}): void =>
          error ? reject(error) : resolve(new Response(body, { status, headers: more }));
        sent.push({ url: request?.url ?? url, init, key: headers.get("Idempotency-Key"), answer });
      }));
    await import("../src/page.js");
  };
  const dispatch = (type: string, more: object = {}): void => listeners.filter(([each]) => each === type).forEach(([, listen]) => listen({ type, isTrusted: true, ...more }));
  const settled = () => new Promise((resolve) => setTimeout(resolve, 5));
  const post = (body: BodyInit = '{"item":"tea"}', init: RequestInit = {}) => fetch("/api/orders", { method: "POST", body, ...init });

  beforeEach(async () => {
    sent = [];
    vi.stubGlobal("sessionStorage", storage());
    vi.stubGlobal("origin", "http://shop.test");
    vi.stubGlobal("document", { baseURI: "http://shop.test/", currentScript: { getAttribute: () => JSON.stringify(routes) } });
    vi.stubGlobal("addEventListener", (...[type, listener]: (typeof listeners)[0]) => listeners.push([type, listener]));
    vi.stubGlobal("XMLHttpRequest", class extends EventTarget { upload = new EventTarget(); open() {} setRequestHeader() {} send() {} abort() {} });
    vi.stubGlobal("Navigator", class { sendBeacon() { return true; } });
    await open();
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  test.each((vectors("wish") as { cases: Case[] }).cases.filter(({ doors }) => !doors || doors.includes("page")))("keeps a wish: $name", async ({ steps }) => {
    const keys: (string | null)[] = [];
    let content = "";
    let calls: Promise<unknown>[] = [];
    for (const [act, what, gets] of steps) {
      if (act === "edit") content = String(what);
      if (act === "edit") dispatch("input");
      if (act === "open") await open();
      if (act === "reset" || act === "new") dispatch(act === "new" ? "semel:new" : act);
      if (act === "click") {
        dispatch("click", { detail: what });
        calls.push(post(JSON.stringify({ content })).then((response) => response.text()).catch((error: unknown) => error));
        await settled();
        const key = sent.at(-1)!.key;
        expect(key).toMatch(/^"semel-page-[0-9a-f-]{36}"$/);
        expect(keys.includes(key) ? "same" : "new", JSON.stringify([act, what])).toBe(gets === "blocked" ? "same" : gets);
        if (gets !== "new") expect(key).toBe(keys.at(-1));
        keys.push(key);
      }
      const answers: Record<string, Answer> = {
        answer: {}, refuse: { status: 422 }, lose: { error: new TypeError("cut") },
        break: { body: new ReadableStream({ start: (control) => { control.enqueue(new TextEncoder().encode("{")); setTimeout(() => control.error(new TypeError("cut"))); } }) },
      };
      if (answers[act]) {
        for (const one of sent.splice(0)) one.answer(answers[act]);
        await Promise.all(calls);
        await settled();
        calls = [];
      }
    }
    expect(keys.length).toBeGreaterThan(1);
  });

  test("gives a key to the requests that a route names, under its header, and to nothing else", async () => {
    for (const [url, init] of [
      ["/api/orders", {}], ["/other", { method: "POST" }], ["http://elsewhere.test/api/orders", { method: "POST" }],
      ["/api/orders", { method: "POST", headers: { "idempotency-KEY": "own" } }],
      ["/api/orders", { method: "POST", body: new ReadableStream(), duplex: "half" }],
    ] as [string, RequestInit][]) void fetch(url, init);
    expect(sent.map(({ key }) => key)).toEqual([null, null, null, "own", null]);
    void fetch("/api/other", { method: "post" });
    expect(new Headers(sent.at(-1)!.init.headers).get("X-Key")).toMatch(/^"semel-page-.{36}"$/);
    void fetch(new Request("http://shop.test/api/orders", { method: "POST", body: "{}" }));
    await settled();
    expect(sent.at(-1)!.key).toMatch(/^"semel-page-.{36}"$/);
  });

  test("gives the application the browser's own response and errors", async () => {
    const call = post();
    sent[0]!.answer({ status: 422, body: "no" });
    expect(await call.then(async (response) => [response.constructor === Response, response.status, await response.text()])).toEqual([true, 422, "no"]);
    const error = new TypeError("cut");
    const lost = post();
    sent[1]!.answer({ error });
    await expect(lost).rejects.toBe(error);
    expect([fetch.name, Function.prototype.toString.call(fetch)]).toEqual([expect.any(String), expect.stringContaining("native code")]);
  });

  test("the same content waits for the end of an answer that has begun", async () => {
    let finish!: () => void;
    const first = post();
    sent[0]!.answer({ body: new ReadableStream({ start: (control) => void (finish = () => control.close()) }) });
    await first;
    const second = post(); // as a loop does that does not read the answers
    await settled();
    expect(sent).toHaveLength(1);
    finish();
    await settled();
    expect(sent[1]!.key).not.toBe(sent[0]!.key);
    sent[1]!.answer();
    await second;
  });

  const inFlight: Answer = { status: 409, body: '{"type":"urn:semel:problem:in-flight"}', headers: { "Content-Type": "application/problem+json", "Retry-After": "1" } };

  test("waits while an earlier attempt is at work, and not longer than the application", async () => {
    vi.useFakeTimers();
    await open();
    const call = post();
    sent[0]!.answer(inFlight);
    await vi.advanceTimersByTimeAsync(999);
    expect(sent).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(sent.map(({ key }) => key)).toEqual([sent[0]!.key, sent[0]!.key]);
    sent[1]!.answer();
    expect((await call).status).toBe(201);
    const patient = post("{}");
    for (let n = 2; n < 40 && sent[n]; n++) {
      sent[n]!.answer(inFlight);
      await vi.advanceTimersByTimeAsync(1000);
    }
    expect((await patient).status).toBe(409);
    expect(await (await patient).json()).toMatchObject({ type: "urn:semel:problem:in-flight" });
    const control = new AbortController();
    const stopped = post("[]", { signal: control.signal });
    sent.at(-1)!.answer(inFlight);
    await vi.advanceTimersByTimeAsync(10);
    const before = sent.length;
    control.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect(sent.length).toBe(before + 1); // the browser rejects it as it would have
    expect(sent.at(-1)!.init.signal!.aborted).toBe(true);
    void stopped.catch(() => undefined);
  });

  test.each([
    ["blocked", () => { throw new DOMException("blocked", "SecurityError"); }],
    ["damaged", () => ({ getItem: () => '{"a":1}', setItem: () => undefined })],
    ["full", () => ({ getItem: () => null, setItem: () => { throw new DOMException("full", "QuotaExceededError"); } })],
  ])("storage that is %s leaves the page its own memory", async (_, get) => {
    Object.defineProperty(globalThis, "sessionStorage", { configurable: true, get });
    void post();
    void post();
    expect(sent[0]!.key).toMatch(/^"semel-page-.{36}"$/);
    expect(sent[1]!.key).toBe(sent[0]!.key);
    Object.defineProperty(globalThis, "sessionStorage", { configurable: true, writable: true, value: storage() });
  });

  test.each([[23, true], [-23, true], [25, false], [-25, false]])("a clock that is %d hours on leaves the key the same after a reload: %s", async (hours, same) => {
    void post();
    const now = Date.now();
    vi.spyOn(Date, "now").mockReturnValue(now + hours * 3_600_000);
    await open();
    void post();
    vi.restoreAllMocks();
    expect(sent[0]!.key === sent[1]!.key).toBe(same);
  });

  test("keeps 64 wishes, the oldest forgotten first", async () => {
    for (let n = 0; n < 65; n++) void post(String(n));
    await open();
    void post("0");
    void post("64");
    expect(sent.at(-2)!.key).not.toBe(sent[0]!.key);
    expect(sent.at(-1)!.key).toBe(sent[64]!.key);
    expect(JSON.parse(sessionStorage.getItem("semel-page")!)).toHaveLength(64);
  });

  test("reports once the requests that it could not protect", () => {
    dispatch("pagehide");
    expect(sent).toEqual([]);
    void post(new ReadableStream() as never, { duplex: "half" } as RequestInit);
    new Navigator().sendBeacon("/api/orders");
    new Navigator().sendBeacon("/elsewhere");
    const xhr = new XMLHttpRequest();
    xhr.open("POST", "/api/orders", false);
    xhr.send("{}");
    void post("x".repeat((1 << 20) + 1));
    dispatch("pagehide");
    dispatch("pagehide");
    const told = sent.filter(({ url }) => url === "/.well-known/semel/page");
    expect(told.map(({ init }) => JSON.parse(init.body as string))).toEqual([{ orders: { stream: 1, beacon: 1, sync: 1, large: 1 } }]);
    expect(told[0]!.init).toMatchObject({ method: "POST", keepalive: true });
  });

  test("polluted prototypes and a broken own code leave the application its requests", async () => {
    vi.spyOn(crypto, "getRandomValues").mockImplementation(() => { throw new Error("none"); });
    void post();
    expect(sent[0]).toMatchObject({ url: "/api/orders", key: null });
    vi.restoreAllMocks();
    let { name } = fetch;
    const before = name;
    Object.assign(Object.prototype, { get: () => 1, apply: 7, has: () => false });
    try {
      void post();
      name = fetch.name;
    } finally {
      for (const name of ["get", "apply", "has"]) Reflect.deleteProperty(Object.prototype, name);
    }
    expect(sent[1]!.key).toMatch(/^"semel-page-.{36}"$/);
    expect(name).toBe(before);
  });

  test("a request that a script repeats long after a double click is another wish", async () => {
    vi.useFakeTimers();
    await open();
    for (const wait of [0, 1900, 200]) {
      if (!sent.length) dispatch("click", { detail: 2 });
      await vi.advanceTimersByTimeAsync(wait);
      void post();
      sent.at(-1)!.answer();
      await vi.advanceTimersByTimeAsync(0);
    }
    const [first, second, third] = sent.map(({ key }) => key);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  const unknown = '{"type":"urn:semel:problem:outcome-unknown"}';
  test.each<[string, Answer, boolean]>([
    ["201", {}, true],
    ["422", { status: 422 }, true],
    ["409", { status: 409 }, true],
    ["a replayed 500", { status: 500, headers: { "Idempotent-Replayed": "true" } }, true],
    ["a redirect that is not followed", { status: 303 }, true],
    ["500", { status: 500 }, false],
    ["429", { status: 429 }, false],
    ["a request to sign in", { status: 401 }, false],
    ["an unknown outcome", { status: 409, body: unknown, headers: { "Content-Type": "application/problem+json" } }, false],
    ["an unknown outcome on a page for people", { status: 409, headers: { "Content-Type": "text/html", "Semel-Problem": "urn:semel:problem:outcome-unknown" } }, false],
    ["a problem that cannot be read", { status: 409, body: unknown.slice(9), headers: { "Content-Type": "application/problem+json" } }, false],
  ])("an answer of %s ends the wish: %s", async (_, answer, ends) => {
    const call = post();
    sent[0]!.answer(answer);
    await call.then((response) => response.text());
    await settled();
    void post();
    await settled();
    expect(sent[1]!.key !== sent[0]!.key).toBe(ends);
  });

  test("prints the cost of a JSON body of 10 kB", async ({ task }) => {
    const body = JSON.stringify({ lines: Array.from({ length: 110 }, (_, n) => ({ id: n, sku: `article-${n}`, quantity: n % 7, price: 12.5 * n, note: "a short text about it" })) });
    const begin = performance.now();
    for (let n = 0; n < 200; n++) void post(body.replace("article-7", `article-${n}`));
    Object.assign(task.meta, { milliseconds: (performance.now() - begin) / 200 });
    console.log(`${body.length} bytes: ${((performance.now() - begin) / 200).toFixed(3)} ms a request`);
    expect(sent.every(({ key }) => key)).toBe(true);
  });
});
