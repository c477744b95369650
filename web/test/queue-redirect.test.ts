import { describe, expect, test, vi } from "vitest";
import type { Item, QueueOptions } from "../src/queue/queue.js";
import { Browser, home, Server } from "./queue-world.js";

const states = (items: readonly Item[]) => items.map(({ state, reason }) => [state, reason?.word]);

/** What a shop behind a server that keeps keys does with the queue's requests. */
class Site {
  signedIn = false;
  /** Where a request goes whose session has ended. */
  signInPage = "/login";
  /** Whether that redirect is recorded for the key, as an outcome. */
  records = false;
  /** What comes instead of the page that an order leads to, and of the status question. */
  landing = 200;
  question: Response | undefined;
  blocked = false;
  orders: string[] = [];
  asked: string[] = [];
  readonly #records = new Map<string, { location: string; at: number }>();

  readonly fetch = (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const url = new URL(String(input));
    const key = new Headers(init?.headers).get("Idempotency-Key") ?? "";
    if (url.pathname === "/.well-known/idempotency/status") {
      this.asked.push(url.search + " " + key + " " + new Headers(init?.headers).get("X-Account"));
      if (this.blocked) return Promise.reject(new TypeError("Failed to fetch"));
      return Promise.resolve(this.question ?? this.#status(key));
    }
    return Promise.resolve(this.#follow(this.#post(key)));
  };

  #status(key: string): Response {
    const found = this.#records.get(key);
    return Response.json({ state: found ? "completed" : "absent", age_seconds: found ? (performance.now() - found.at) / 1000 : 0 });
  }

  #post(key: string): string {
    const found = this.#records.get(key);
    if (found) return found.location;
    if (!this.signedIn && !this.records) return this.signInPage;
    const location = this.signedIn ? `/orders/${this.orders.push(key)}` : this.signInPage;
    this.#records.set(key, { location, at: performance.now() });
    return location;
  }

  /** Makes what is recorded older. */
  pass(ms: number) {
    for (const found of this.#records.values()) found.at -= ms;
  }

  /** A sign-in page leads people who have signed in to the home page. */
  #follow(location: string): Response {
    const to = location === this.signInPage && this.signedIn ? "/home" : location;
    const status = to.startsWith("/orders") ? this.landing : 200;
    return Object.defineProperties(Response.json({ at: to }, { status }), { redirected: { value: true }, url: { value: home + to } });
  }
}

function setup(options: QueueOptions = {}) {
  const site = new Site();
  const browser = new Browser(new Server());
  const { queue } = browser.tab({ headers: () => ({ "X-Account": "ada" }), ...options, environment: { fetch: site.fetch } });
  const again = async () => {
    await queue.resume();
    browser.now += 60 * 60_000;
    site.pass(60 * 60_000);
    await queue.drain();
  };
  return { site, queue, again };
}

describe("an answer that was redirected", () => {
  test("to a sign-in page is no answer; after signing in the order is made, once", async () => {
    const { site, queue, again } = setup();
    await queue.add(`${home}/orders`);
    await queue.drain();
    expect(states(await queue.list())).toEqual([["waiting", "sign-in"]]);
    expect(site.asked, "its address says enough").toEqual([]);
    site.signedIn = true;
    await again();
    expect(states(await queue.list())).toEqual([["done", undefined]]);
    expect(site.orders).toHaveLength(1);
    const [{ key }] = (await queue.list()) as [Item];
    expect(site.asked).toEqual([`?method=POST&path=%2Forders "${key}" ada`]);
  });

  test("is no answer where the person signed in meanwhile, and the sign-in page leads on", async () => {
    const { site, queue, again } = setup();
    site.signInPage = "/anmelden"; // unknown to the queue, and followed to /home
    await queue.add(`${home}/orders`);
    await queue.drain();
    expect(states(await queue.list())).toEqual([["waiting", "sign-in"]]);
    site.signedIn = true;
    await again();
    expect(states(await queue.list())).toEqual([["done", undefined]]);
    expect(site.orders).toHaveLength(1);
  });

  test("is never taken for the order's when it is the recorded redirect to a sign-in page", async () => {
    const { site, queue, again } = setup({ signedOut: ({ url }) => url.endsWith("/anmelden") });
    site.signInPage = "/anmelden";
    site.records = true;
    await queue.add(`${home}/orders`);
    await queue.drain();
    expect(states(await queue.list())).toEqual([["waiting", "sign-in"]]);
    site.signedIn = true;
    await again();
    expect(site.orders).toEqual([]);
    expect(states(await queue.list())).toEqual([["set-aside", "unknown"]]);
  });

  test("after signing up leads to the sign-in page, and is done", async () => {
    const { site, queue } = setup();
    site.records = true;
    await queue.add(`${home}/register`);
    await queue.drain();
    expect(states(await queue.list())).toEqual([["done", undefined]]);
  });

  test("was done, whatever its page says", async () => {
    const { site, queue } = setup();
    Object.assign(site, { signedIn: true, landing: 404 });
    await queue.add(`${home}/orders`);
    await queue.drain();
    expect(states(await queue.list())).toEqual([["done", "not-kept"]]);
  });

  test.each([
    ["that does not let this page ask", "https://elsewhere.example", "set-aside", "unknown"],
    ["of its own that cannot be reached now", home, "waiting", "unavailable"],
  ])("of a server %s", async (_, origin, state, word) => {
    vi.stubGlobal("location", new URL(`${home}/`));
    const { site, queue } = setup();
    Object.assign(site, { signedIn: true, blocked: true });
    await queue.add(`${origin}/orders`);
    await queue.drain();
    expect(states(await queue.list())).toEqual([[state, word]]);
    vi.unstubAllGlobals();
  });

  test("of a server of another origin whose answer breaks off", async () => {
    vi.stubGlobal("location", new URL(`${home}/`));
    const { site, queue } = setup();
    const cut = new ReadableStream({ pull: (control) => control.error(new TypeError("cut")) });
    Object.assign(site, { signedIn: true, question: new Response(cut) });
    await queue.add("https://elsewhere.example/orders");
    await queue.drain();
    expect(states(await queue.list())).toEqual([["waiting", "unavailable"]]);
    vi.unstubAllGlobals();
  });

  const status = (state: string) => Response.json({ state, age_seconds: 0 });
  const redirect = Object.defineProperties(new Response(null), { type: { value: "opaqueredirect" }, ok: { value: false } });
  test.each<[string, Response, string, string]>([
    ["is at work", status("in-flight"), "waiting", "in-flight"],
    ["knows not", status("unknown"), "set-aside", "unknown"],
    ["was told to drop it", status("cancelled"), "set-aside", "cancelled"],
    ["asks to sign in", new Response(null, { status: 401 }), "waiting", "sign-in"],
    ["leads elsewhere", redirect, "waiting", "sign-in"],
    ["cannot say now", new Response(null, { status: 503 }), "waiting", "unavailable"],
    ["has another address", new Response(null, { status: 421 }), "waiting", "unavailable"],
    ["is asked too often", new Response(null, { status: 429 }), "waiting", "unavailable"],
    ["answers no such questions", new Response("<h1>Not found</h1>", { status: 404 }), "set-aside", "unknown"],
    ["answers every address with a page", new Response("<h1>Welcome</h1>"), "set-aside", "unknown"],
    ["answers with something else", Response.json({ state: "sold" }), "set-aside", "unknown"],
  ])("of a server that %s", async (_, question, state, word) => {
    const { site, queue } = setup();
    Object.assign(site, { signedIn: true, question });
    await queue.add(`${home}/orders`);
    await queue.drain();
    expect(states(await queue.list())).toEqual([[state, word]]);
  });
});

describe("a page where an answer was expected", () => {
  /** What a captive portal, or a sign-in page without an address of its own, gives for everything. */
  const portal = () => new Response("<!doctype html><h1>Welcome to the café</h1>", { headers: { "Content-Type": "text/html; charset=utf-8" } });

  function behind(question: () => Response, page: () => Response = portal) {
    let inside = true;
    const made: string[] = [];
    const browser = new Browser(new Server());
    const { queue } = browser.tab({ environment: {
      fetch: (input, init) => {
        if (String(input).includes("/.well-known/")) return Promise.resolve(question());
        if (inside) return Promise.resolve(page());
        made.push(new Headers(init?.headers).get("Idempotency-Key")!);
        return Promise.resolve(Response.json({ id: 7 }, { status: 201, headers: { "Idempotency-Status": "executed" } }));
      },
    } });
    const leave = () => void (inside = false);
    return { queue, made, browser, leave };
  }

  test("from a captive portal is never called done; the person tries again under the same key", async () => {
    const { queue, made, leave } = behind(portal);
    const { id, key } = await queue.add(`${home}/orders`);
    const child = await queue.add(`${home}/orders/{order}/lines`, { body: {}, after: id, fill: { "{order}": "/id" } });
    await queue.drain();
    expect(states(await queue.list())).toEqual([["set-aside", "unknown"], ["waiting", "parent-set-aside"]]);
    leave();
    await queue.retry(id);
    await queue.drain();
    expect(states(await queue.list())).toEqual([["done", undefined], ["done", undefined]]);
    expect(made).toEqual([`"${key}"`, `"${child.key}"`]);
  });

  test.each<[string, () => Response, string, string | undefined]>([
    ["absent", () => Response.json({ state: "absent", age_seconds: 0 }), "waiting", "sign-in"],
    ["completed", () => Response.json({ state: "completed", age_seconds: 0 }), "done", undefined],
    ["in-flight", () => Response.json({ state: "in-flight", age_seconds: 0 }), "waiting", "in-flight"],
    ["nothing at all", () => { throw new TypeError("Failed to fetch"); }, "waiting", "unavailable"],
  ])("is what the server says of the key: %s", async (_, question, state, word) => {
    const { queue } = behind(question);
    await queue.add(`${home}/orders`);
    await queue.drain();
    expect(states(await queue.list())).toEqual([[state, word]]);
  });

  test.each([
    ["of a server that says what it did", () => new Response("<h1>Order 7</h1>", { headers: { "Content-Type": "text/html", "Idempotency-Status": "executed" } })],
    ["that is no page", () => Response.json({ id: 7 })],
    ["without a body", () => new Response(null, { status: 204 })],
  ])("is the answer when it is one %s", async (_, page) => {
    const { queue } = behind(() => Response.error(), page);
    await queue.add(`${home}/orders`);
    await queue.drain();
    expect(states(await queue.list())).toEqual([["done", undefined]]);
  });
});
