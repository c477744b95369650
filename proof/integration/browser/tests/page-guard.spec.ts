import { expect } from "@playwright/test";
import { answers, click, open, senders, test } from "./page-guard.ts";

// The script of the page guard in an application that knows nothing of it.

const names = Object.keys(senders) as (keyof typeof senders)[];

for (const sender of names) {
  for (const delay of [0, 60, 600]) {
    test(`a double click is one order: ${sender}, a server that takes ${delay} ms`, async ({ page, shop }) => {
      for (const pause of [0, 40, 120, 250, 400]) {
        const before = shop.effects.length;
        await open(page, shop, sender, `/api/orders?delay=${delay}`);
        await click(page, pause);
        const [first, second] = await answers(page, 2);
        expect(shop.effects.length, `${pause} ms`).toBe(before + 1);
        expect(second, "the second click gets the first answer").toBe(first);
      }
    });
  }

  test(`a lost answer and another press are one order: ${sender}`, async ({ page, shop }) => {
    await open(page, shop, sender, "/api/orders");
    shop.lost = 1;
    await click(page);
    expect(await answers(page, 1)).toEqual(["lost"]);
    await click(page);
    await answers(page, 2);
    expect(shop.effects).toHaveLength(1);
    await click(page);
    await answers(page, 3);
    expect(shop.effects, "the wish has ended").toHaveLength(2);
  });

  test(`half of an answer and another press are one order: ${sender}`, async ({ page, shop }) => {
    await open(page, shop, sender, "/api/orders?how=half");
    await click(page);
    expect(await answers(page, 1)).toEqual(["lost"]);
    await click(page);
    await answers(page, 2);
    expect(shop.effects).toHaveLength(1);
  });

  test(`two wishes with the same content are two orders: ${sender}`, async ({ page, shop }) => {
    await open(page, shop, sender, "/api/orders");
    for (const n of [1, 2]) {
      await click(page);
      await answers(page, n);
    }
    expect(shop.effects).toHaveLength(2);
    expect(new Set(shop.keys).size).toBe(2);
  });

  test(`a reload while it is sent, and the same again, are one order: ${sender}`, async ({ page, shop }) => {
    await open(page, shop, sender, "/api/orders?delay=500");
    await click(page);
    await expect.poll(() => shop.keys.length).toBe(1);
    await open(page, shop, sender, "/api/orders?delay=500");
    await click(page);
    await answers(page, 1);
    expect(shop.effects).toHaveLength(1);
    expect(new Set(shop.keys).size).toBe(1);
  });
}

test("an abort, and the same sent again, are one order", async ({ page, shop }) => {
  await page.goto(shop.url);
  const texts = await page.evaluate(async () => {
    const init = { method: "POST", body: "tea" };
    const control = new AbortController();
    const first = fetch("/api/orders?delay=300", { ...init, signal: control.signal }).catch((error: DOMException) => error.name);
    await fetch("/bare"); // by then it is at the server
    control.abort();
    const xhr = new XMLHttpRequest();
    const aborted = new Promise((resolve) => xhr.addEventListener("abort", () => resolve("abort")));
    xhr.open("POST", "/api/orders?delay=300");
    xhr.send("tea");
    await fetch("/bare");
    await new Promise((resolve) => setTimeout(resolve, 60)); // between its attempts
    xhr.abort();
    return [await first, await aborted, await (await fetch("/api/orders?delay=300", init)).text()];
  });
  expect(texts).toEqual(["AbortError", "abort", '{"order":1,"text":""}']);
  expect(shop.effects).toHaveLength(1);
});

test("a GraphQL query sees the effect of a mutation, and a mutation pressed twice happens once", async ({ page, shop }) => {
  await open(page, shop, "fetch", "/graphql", JSON.stringify({ query: "# not a query\nmutation Add { add }" }));
  const query = () => page.evaluate(async () => (await fetch("/graphql", { method: "POST", body: JSON.stringify({ query: "{ orders }" }) })).text());
  expect(await query()).toBe('{"data":{"orders":0}}');
  await click(page, 60);
  await answers(page, 2);
  expect(await query()).toBe('{"data":{"orders":1}}');
  expect(shop.keys.map((key) => key !== undefined)).toEqual([false, true, true, false]);
});

for (const type of ["blob", "arraybuffer", "document"]) {
  test(`a double click waits for its answer where that is read as ${type}`, async ({ page, shop }) => {
    await page.goto(shop.url);
    const statuses = await page.evaluate((as) => {
      const send = () => new Promise((resolve) => {
        const xhr = new XMLHttpRequest();
        xhr.open("POST", "/api/orders/now?delay=300");
        xhr.responseType = as as "blob";
        xhr.onload = () => resolve(xhr.status);
        xhr.send("tea");
      });
      return Promise.all([send(), send()]);
    }, type);
    expect(statuses).toEqual([201, 201]);
    expect(shop.effects).toHaveLength(1);
  });
}

test("a request that a page sends by itself after a double click happens each time", async ({ page, shop }) => {
  await open(page, shop, "fetch", "/api/orders");
  await click(page, 60);
  await answers(page, 2);
  await page.evaluate("new Promise((resolve) => setTimeout(resolve, 2100))"); // the time of a double click
  for (const n of [2, 3]) {
    await page.evaluate(async () => (await fetch("/api/orders", { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"item":"tea"}' })).text());
    expect(shop.effects).toHaveLength(n);
  }
});

test("in a sandbox, where the address is another origin's, a request stays a simple one", async ({ page, shop }) => {
  shop.headers = { "Content-Security-Policy": "sandbox allow-scripts", "Access-Control-Allow-Origin": "*" };
  await page.goto(shop.url);
  await page.evaluate(async () => fetch("/api/orders", { method: "POST", body: "tea" }).catch(() => undefined));
  expect([shop.effects, shop.keys]).toEqual([["tea"], [undefined]]);
});

test("items that a script adds one after the other are as many", async ({ page, shop }) => {
  await page.goto(shop.url);
  await page.evaluate(async () => {
    for (let n = 0; n < 5; n++) await fetch("/api/orders?long=3000", { method: "POST", body: "tea" }); // whose answers it does not read
  });
  expect(shop.effects).toHaveLength(5);
});

test("a stream keeps its wish while it comes, and the application's cancel ends its request", async ({ page, shop }) => {
  await page.goto(shop.url);
  const text = await page.evaluate(async () => {
    const post = () => fetch("/api/orders?how=stream", { method: "POST", body: "tea" });
    const reader = (await post()).body!.getReader();
    Object.assign(globalThis, { reader, post });
    void post(); // which the gateway lets wait
    return new TextDecoder().decode((await reader.read()).value);
  });
  expect(text).toBe("data: 1\n\n");
  await expect.poll(() => shop.keys.length).toBe(2);
  await page.evaluate(async () => {
    const { reader, post } = globalThis as unknown as { reader: ReadableStreamDefaultReader; post(): Promise<Response> };
    const ended = new Promise<void>((resolve) => new PerformanceObserver((list) => list.getEntries().some(({ name }) => name.includes("stream")) && resolve()).observe({ type: "resource", buffered: false }));
    await reader.cancel();
    await ended;
    void post();
  });
  await expect.poll(() => shop.keys.length).toBe(3);
  expect(shop.keys[1]).toBe(shop.keys[0]);
  expect(shop.keys[2]).not.toBe(shop.keys[0]);
});

test("what could not be protected is reported when the page goes away", async ({ page, shop }) => {
  await page.goto(shop.url);
  await page.evaluate(async () => {
    navigator.sendBeacon("/api/orders", "x");
    const xhr = new XMLHttpRequest();
    xhr.open("POST", "/api/orders", false);
    xhr.send("x");
    await fetch("/api/orders", { method: "POST", body: "x".repeat(2 ** 20 + 1) });
  });
  await page.goto(`${shop.url}/bare`);
  await expect.poll(() => shop.told).toEqual(['{"order":{"beacon":1,"sync":1,"large":1}}']);
  await page.goto(shop.url);
  await page.goto(`${shop.url}/bare`);
  expect(shop.told).toHaveLength(1);
});

/** Runs in the page: what an application can see of its requests. */
async function watch(): Promise<unknown[]> {
  const seen: unknown[] = [];
  const json = { "Content-Type": "application/json" };
  const attempts: Record<string, () => Promise<Response>> = {
    ok: () => fetch("/api/orders", { method: "POST", headers: json, body: '{"a":1}' }),
    refused: () => fetch("/api/orders?status=422", { method: "POST", body: new URLSearchParams({ a: "1" }) }),
    empty: () => fetch("/api/orders?status=204", { method: "post" }),
    redirect: () => fetch("/api/orders?how=redirect", { method: "POST", body: new Blob(["a"]) }),
    manual: () => fetch("/api/orders?how=redirect", { method: "POST", body: "b", redirect: "manual" }),
    refusedRedirect: () => fetch("/api/orders?how=redirect", { method: "POST", body: "c", redirect: "error" }),
    cut: () => fetch("/api/orders?how=cut", { method: "POST", body: "d" }),
    half: () => fetch("/api/orders?how=half", { method: "POST", body: "e" }),
    request: () => fetch(new Request("/api/orders", { method: "PUT", body: new Uint8Array([1, 2]), keepalive: true })),
    url: () => fetch(new URL("/api/orders#part", location.href), { method: "POST", body: new FormData() }),
    aborted: () => fetch("/api/orders", { method: "POST", body: "f", signal: AbortSignal.abort("why") }),
    header: () => fetch("/api/orders", { method: "POST", body: "g", headers: { "bad header": "x" } }),
    address: () => fetch("http://[", { method: "POST" }),
    iterator: () => fetch("/api/orders", { method: "POST", body: "h", headers: new Map([["X-A", "1"]]) as never }),
    object: () => fetch("/api/orders", Object.create({ method: "POST", body: "i" }) as RequestInit),
    initRequest: () => fetch("/api/orders", new Request("/other", { headers: { "X-A": "1" } })),
    get: () => fetch("/api/orders"),
    timeout: () => fetch("/api/orders?delay=3000", { method: "POST", body: "j", signal: AbortSignal.timeout(30) }),
    head: () => fetch("/api/orders?long=400000", { method: "POST", body: "k" }),
  };
  for (const [name, send] of Object.entries(attempts)) {
    try {
      const response = await send();
      const { constructor, status, redirected, type, bodyUsed, url, body } = response;
      const said = [name, constructor === Response, Object.getOwnPropertyNames(response), status, redirected, type, bodyUsed, url, body?.constructor.name, body?.locked];
      seen.push(said);
      const copy = response.clone();
      seen.push([(await response.text()).length, (await copy.blob()).size, response.bodyUsed]);
    } catch (error) {
      seen.push([name, String(error), (error as object).constructor === TypeError]);
    }
  }
  const used = new Request("/api/orders", { method: "POST", body: "l" });
  const call = fetch(used);
  seen.push([used.bodyUsed, await fetch(used).catch(String), (await call).status]);
  const byob = (await fetch("/api/orders", { method: "POST", body: "m" })).body!;
  try {
    seen.push((await byob.getReader({ mode: "byob" }).read(new Uint8Array(4))).value!.length);
  } catch (error) {
    seen.push(String(error));
  }
  const own = (holder: object, name: string) => {
    const { value, ...flags } = Object.getOwnPropertyDescriptor(holder, name)!;
    return [name, flags, (value as () => void).name, (value as () => void).length, /\[native code\]/.test(String(value)), Object.getOwnPropertyNames(value)];
  };
  seen.push(own(window, "fetch"), ...["open", "send", "setRequestHeader", "abort"].map((name) => own(XMLHttpRequest.prototype, name)));
  seen.push(await Promise.resolve().then(() => (fetch as (this: unknown) => unknown).call({})).catch(String), await fetch.call(undefined, "/bare").then(({ ok }) => ok));
  return seen;
}

/** Runs in the page: every event of requests of all kinds, and the state at it. */
async function hear(): Promise<unknown[]> {
  const seen: unknown[] = [];
  class Sub extends XMLHttpRequest {}
  const kinds: [string, string, (xhr: XMLHttpRequest) => void, unknown?][] = [
    ["json", "/api/orders", (xhr) => (xhr.responseType = "json")],
    ["text", "/api/orders?status=422", (xhr) => xhr.setRequestHeader("X-A", "1")],
    ["blob", "/api/orders", (xhr) => (xhr.responseType = "blob"), new Blob(["a"])],
    ["buffer", "/api/orders?long=200000", (xhr) => (xhr.responseType = "arraybuffer"), new Uint8Array(7)],
    ["upload", "/api/orders?long=1", () => undefined, new Blob([new Uint8Array(3 << 20)])],
    ["redirect", "/api/orders?how=redirect", () => undefined],
    ["cut", "/api/orders?how=cut", () => undefined],
    ["half", "/api/orders?how=half", () => undefined],
    ["credentials", "/api/orders", (xhr) => (xhr.withCredentials = true)],
    ["timeout", "/api/orders?delay=2000", (xhr) => (xhr.timeout = 30)],
    ["aborted", "/api/orders?delay=2000", (xhr) => setTimeout(() => xhr.abort(), 30)],
    ["aborted at once", "/api/orders", (xhr) => queueMicrotask(() => xhr.abort())],
  ];
  for (const [name, url, prepare, body = name] of kinds) {
    const xhr = name === "json" ? new Sub() : new XMLHttpRequest();
    const heard = new Set<string>();
    const order: unknown[] = [];
    const note = (where: string) => (event: Event) => {
      const what = [where, event.type, xhr.readyState, xhr.status, event.isTrusted, event.constructor.name, Object.keys(xhr)];
      const text = JSON.stringify(what.filter((_, n) => event.type !== "progress" || n !== 2));
      if (heard.has(text)) return; // the network decides how often there is progress, and when
      heard.add(text);
      if (event.type !== "progress") order.push(what);
    };
    const types = ["readystatechange", "loadstart", "progress", "load", "loadend", "error", "abort", "timeout"];
    for (const type of types) xhr.addEventListener(type, note("request"));
    for (const type of types.slice(1)) xhr.upload.addEventListener(type, note("upload"));
    xhr.onreadystatechange = note("property");
    xhr.open("POST", url);
    for (const type of types) xhr.addEventListener(type, note("late"));
    prepare(xhr);
    const end = new Promise((resolve) => xhr.addEventListener("loadend", resolve));
    xhr.send(body as string);
    order.push(["sent", xhr.readyState]);
    await end;
    seen.push([name, order, [...heard].filter((text) => text.includes("progress")).sort(), xhr.constructor.name, xhr.responseURL, xhr.statusText, xhr.getResponseHeader("Content-Type"), xhr instanceof XMLHttpRequest, typeof xhr.response]);
  }
  const xhr = new XMLHttpRequest();
  seen.push([xhr.constructor === XMLHttpRequest, XMLHttpRequest.prototype.constructor === XMLHttpRequest, XMLHttpRequest.name, XMLHttpRequest.length, XMLHttpRequest.DONE]);
  for (const act of [() => xhr.send(), () => xhr.setRequestHeader("a", "b"), () => xhr.open("bad method", "/"), () => (xhr.open as (m: string) => void)("GET")]) {
    try {
      act();
    } catch (error) {
      seen.push([String(error), (error as object).constructor.name]);
    }
  }
  return seen;
}

for (const [what, see] of [["fetch", watch], ["XMLHttpRequest", hear]] as const) {
  test(`an application sees the same of ${what} with the script and without`, async ({ page, shop, complaints }) => {
    await page.goto(`${shop.url}/bare`);
    const bare = await page.evaluate(see);
    shop.effects = [];
    await page.goto(shop.url);
    expect(await page.evaluate(see)).toEqual(bare);
    expect(shop.keys.filter(Boolean).length, "the script was at work").toBeGreaterThan(5);
    expect(complaints).toEqual([]);
  });
}

test("a repetition that the script waits for is one request to the application", async ({ page, shop }) => {
  await page.goto(shop.url);
  const heard = await page.evaluate(async () => {
    const send = (): [XMLHttpRequest, Promise<string[]>] => {
      const xhr = new XMLHttpRequest();
      const seen: string[] = [];
      const note = (where: string) => (event: Event) => void seen.push(`${where} ${event.type} ${xhr.readyState} ${xhr.status}`);
      for (const type of ["readystatechange", "loadstart", "load", "loadend"]) xhr.addEventListener(type, note("request"));
      xhr.open("POST", "/api/orders/now?delay=300");
      for (const type of ["loadstart", "load", "loadend"]) xhr.upload.addEventListener(type, note("upload")); // as libraries do: before, the page hears of each attempt
      const all = new Promise<string[]>((resolve) => xhr.addEventListener("loadend", () => resolve([...seen, xhr.responseText])));
      xhr.send("tea");
      return [xhr, all];
    };
    return Promise.all([send()[1], send()[1]]);
  });
  expect(heard[1]).toEqual(heard[0]);
  expect(shop.effects).toHaveLength(1);
  expect(shop.keys).toHaveLength(3);
});

test("other scripts may wrap fetch before and after, and Trusted Types and a policy are no hindrance", async ({ page, shop, complaints }) => {
  shop.headers = { "Content-Security-Policy": "require-trusted-types-for 'script'; trusted-types none; default-src 'self' data:; script-src 'self' 'nonce-x'" };
  const wrapping = (name: string) => `<script nonce="x">{ const own = window.fetch; window.${name} = 0; window.fetch = function (...args) { window.${name}++; return own.apply(this, args); }; }</script>`;
  shop.before = wrapping("early") + `<script nonce="x">Object.prototype.get = () => 1; Array.prototype.toJSON = () => "x";</script>`;
  shop.after = wrapping("later");
  await page.goto(shop.url);
  await page.evaluate(async () => (await fetch("/api/orders", { method: "POST", body: '{"a":[1]}' })).text());
  expect(await page.evaluate("[early, later]")).toEqual([1, 1]);
  expect(shop.keys).toEqual([expect.stringMatching(/^"semel-page-.{36}"$/)]);
  expect(complaints).toEqual([]);
});

for (const storage of ["full", "forbidden"]) {
  test(`a page whose storage is ${storage} remembers its wishes`, async ({ page, shop }) => {
    if (storage === "forbidden") await page.addInitScript(() => Object.defineProperty(window, "sessionStorage", { get: () => { throw new DOMException("no", "SecurityError"); } }));
    await open(page, shop, "fetch", "/api/orders");
    if (storage === "full") {
      await page.evaluate(() => {
        for (let size = 2 ** 22; size >= 1; size /= 2) {
          for (let n = 0; n < 4; n++) try { sessionStorage.setItem(`${size}-${n}`, "x".repeat(size)); } catch { /* full */ }
        }
      });
    }
    shop.lost = 1;
    for (const [press, orders] of [1, 1, 2].entries()) {
      await click(page);
      await answers(page, press + 1);
      expect(shop.effects).toHaveLength(orders);
    }
  });
}

for (const [hours, orders] of [[-24 * 365, 2], [-23, 1], [23, 1], [25, 2]] as const) {
  test(`a lost answer, a clock that jumps by ${hours} hours, and the same in the page loaded anew: ${orders}`, async ({ page, shop }) => {
    await open(page, shop, "fetch", "/api/orders");
    shop.lost = 1;
    await click(page);
    await answers(page, 1);
    await page.addInitScript((ms) => {
      const now = Date.now;
      Date.now = () => now() + ms;
    }, hours * 3_600_000);
    await open(page, shop, "fetch", "/api/orders");
    await click(page);
    await answers(page, 1);
    expect(shop.effects).toHaveLength(orders);
  });
}

test("a duplicated tab has the wish that is without an answer, and then wishes of its own", async ({ page, shop }) => {
  await open(page, shop, "fetch", "/api/orders");
  shop.lost = 1;
  await click(page);
  await answers(page, 1);
  const [copy] = await Promise.all([page.waitForEvent("popup"), page.evaluate(() => void window.open(location.href))]);
  await open(copy, shop, "fetch", "/api/orders");
  for (const [press, orders] of [1, 2].entries()) {
    await click(copy);
    await answers(copy, press + 1);
    expect(shop.effects).toHaveLength(orders);
  }
  await click(page);
  expect((await answers(page, 2))[1], "the first tab gets the first answer").toContain('"order":1');
  expect(shop.effects).toHaveLength(2);
});

test("a service worker of the application carries the key", async ({ page, shop }) => {
  await page.goto(shop.url);
  await page.evaluate(async () => {
    await navigator.serviceWorker.register("/worker.js");
    await new Promise<void>((resolve) => (navigator.serviceWorker.controller ? resolve() : navigator.serviceWorker.addEventListener("controllerchange", () => resolve())));
  });
  await open(page, shop, "fetch", "/api/orders?delay=100");
  expect(await page.evaluate(() => navigator.serviceWorker.controller !== null)).toBe(true);
  await click(page, 60);
  await answers(page, 2);
  expect(shop.effects).toHaveLength(1);
});

test("prints the cost of a JSON body of 10 kB", async ({ page, shop }, info) => {
  await page.goto(shop.url);
  const milliseconds = await page.evaluate(async () => {
    const cost = [];
    for (let n = 0; n < 40; n++) {
      const body = JSON.stringify({ n, lines: Array.from({ length: 110 }, (_, id) => ({ id, sku: `article-${id}`, quantity: id % 7, price: 12.5 * id, note: "a short text about it" })) });
      const time = async (url: string) => {
        const begin = performance.now();
        const call = fetch(url, { method: "POST", body });
        const took = performance.now() - begin;
        await (await call).text();
        return took;
      };
      const bare = await time("/other");
      cost.push((await time("/api/orders")) - bare);
    }
    return cost;
  });
  const sorted = milliseconds.slice(1).sort((a, b) => a - b);
  const text = `first ${milliseconds[0]!.toFixed(2)} ms, then median ${sorted[sorted.length >> 1]!.toFixed(2)} ms, worst ${sorted.at(-1)!.toFixed(2)} ms`;
  info.annotations.push({ type: "cost", description: text });
  console.log(text);
  expect(milliseconds).toHaveLength(40);
});
