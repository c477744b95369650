import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { type Page, expect, test as base } from "@playwright/test";

const dist = resolve(import.meta.dirname, "../../../../web/dist");

/** A server that keeps keys, and the network between it and the browser. */
class Network {
  url = "";
  /** Answers in the server's place when it returns true. */
  between: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  readonly orders: string[] = [];
  readonly sent: string[] = [];

  serve(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? "/";
    if (path.endsWith(".js")) return this.#script(path, response);
    const key = String(request.headers["idempotency-key"] ?? "");
    if (request.method === "POST") this.sent.push(key);
    if (!path.endsWith(".html") && this.between(request, response)) return;
    if (path.startsWith("/.well-known/idempotency/status")) {
      return json(response, 200, { state: this.orders.includes(key) ? "completed" : "absent", age_seconds: 0 });
    }
    if (request.method === "POST") return this.order(key, response);
    response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>Shop</title>" + '<link rel="icon" href="data:,">');
  }

  order(key: string, response: ServerResponse): void {
    const word = this.orders.includes(key) ? "replayed" : "executed";
    if (word === "executed") this.orders.push(key);
    json(response, 201, { id: this.orders.indexOf(key) + 1 }, { "Idempotency-Status": word });
  }

  /** A script of the package, or the worker of one of two applications. */
  #script(path: string, response: ServerResponse): void {
    const app = /^\/(\w+)\/worker\.js$/.exec(path)?.[1];
    const text = app === undefined ? readFileSync(dist + path, "utf8")
      : `importScripts("/sw.js"); semelWorker.serveQueue({ shell: ["/${app}/page.html"], shellVersion: "${app}" });`;
    response.writeHead(200, { "Content-Type": "text/javascript" }).end(text);
  }
}

function json(response: ServerResponse, status: number, value: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(value));
}

function html(response: ServerResponse): boolean {
  response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><h1>Accept the terms of this network</h1>");
  return true;
}

const test = base.extend<{ network: Network }>({
  network: async ({}, use) => {
    const network = new Network();
    const server = createServer((request, response) => network.serve(request, response));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    network.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await use(network);
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  },
});

/** Opens a page with a queue of its own. */
async function open(page: Page, network: Network): Promise<void> {
  await page.goto(network.url + "/page.html");
  await page.evaluate(async () => {
    const { openQueue } = await import("/queue.js" as string) as typeof import("../../../../web/src/queue/queue");
    globalThis.queue = openQueue({ owner: "ada" });
  });
}

const add = (page: Page) => page.evaluate(() => globalThis.queue.add("/orders", { body: { item: "tea" } }).then(({ id }) => id));
const states = (page: Page) => page.evaluate(async () => (await globalThis.queue.list()).map(({ state, reason }) => `${state} ${reason?.word ?? ""}`));

test("a captive portal answers everything with a page: the order is not called done, and is made when it is tried again", async ({ page, network }) => {
  await open(page, network);
  network.between = (_, response) => html(response);
  const id = await add(page);
  await expect.poll(() => states(page)).toEqual(["set-aside unknown"]);
  expect(network.orders).toEqual([]);
  network.between = () => false;
  await page.evaluate((id) => globalThis.queue.retry(id), id);
  await expect.poll(() => states(page)).toEqual(["done "]);
  expect(network.orders).toHaveLength(1);
  expect(new Set(network.sent).size).toBe(1);
});

test("a captive portal redirects everything to a page of its own: the order waits", async ({ page, network }) => {
  await open(page, network);
  network.between = (request, response) => {
    if (request.url === "/welcome") return html(response);
    response.writeHead(302, { Location: "/welcome" }).end();
    return true;
  };
  await add(page);
  await expect.poll(() => states(page)).toEqual(["waiting sign-in"]);
  network.between = () => false;
  await page.evaluate(() => globalThis.queue.resume());
  await expect.poll(() => states(page)).toEqual(["done "]);
  expect(network.orders).toHaveLength(1);
});

test("a sign-in page without an address of its own: the order waits, and is made after signing in", async ({ page, network }) => {
  await open(page, network);
  network.between = (request, response) => request.method === "POST" && html(response);
  await add(page);
  await expect.poll(() => states(page)).toEqual(["waiting sign-in"]);
  network.between = () => false;
  await page.evaluate(() => globalThis.queue.resume());
  await expect.poll(() => states(page)).toEqual(["done "]);
  expect(network.orders).toHaveLength(1);
});

test("an answer that is cut short does not count: the order is sent again under its key", async ({ page, network }) => {
  await open(page, network);
  let cut = 2;
  network.between = (request, response) => {
    if (request.method !== "POST" || cut-- <= 0) return false;
    network.orders.push(String(request.headers["idempotency-key"]));
    response.writeHead(201, { "Content-Type": "application/json", ...(cut === 1 && { "Content-Length": "100" }) });
    response.write('{"id":');
    setImmediate(() => response.destroy());
    return true;
  };
  await add(page);
  await expect.poll(() => states(page)).toEqual(["done "]);
  expect(network.sent).toHaveLength(3);
  expect(new Set(network.sent).size).toBe(1);
});

test("an outcome that the server will find out is waited for", async ({ page, network }) => {
  await open(page, network);
  let asked = 0;
  network.between = (request, response) => {
    if (request.method !== "POST" || asked++ > 0) return false;
    response.writeHead(409, { "Content-Type": "application/problem+json", "Retry-After": "1" });
    response.end(JSON.stringify({ type: "urn:semel:problem:outcome-unknown", retryable: true }));
    return true;
  };
  await add(page);
  await expect.poll(() => states(page)).toEqual(["done "]);
  expect(new Set(network.sent).size).toBe(1);
});

test("two applications of one origin keep their shells apart", async ({ page, context, network }) => {
  for (const app of ["one", "two"]) {
    await page.goto(`${network.url}/${app}/page.html`);
    await page.evaluate(async (app) => {
      await navigator.serviceWorker.register(`/${app}/worker.js`);
      await navigator.serviceWorker.ready;
      if (!navigator.serviceWorker.controller) {
        await new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve, { once: true }));
      }
    }, app);
  }
  await context.setOffline(true);
  for (const app of ["two", "one"]) {
    await page.goto(`${network.url}/${app}/page.html`);
    await expect(page).toHaveTitle("Shop");
  }
});
