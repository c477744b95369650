import { once } from "node:events";
import { type IncomingMessage, request as send, type ServerResponse } from "node:http";
import { test as base, type Page } from "@playwright/test";
import { gateway, serve, type Serving } from "./behind.ts";

const rules = `  - {name: orders, match: {methods: [POST, PUT], path: /api/orders/now}, page: true, wait: 0s} # answers at once that the first is under way
  - {name: order, match: {methods: [POST, PUT], path: /api/orders}, page: true}
  - {name: graphql, match: {methods: [POST], path: /graphql}, page: {graphql: true}}
`;

/** A shop whose pages know nothing of keys, the gateway in front of it, and the network between them and the browser. */
export class Shop {
  url = "";
  /** What was ordered, one for each effect. */
  effects: string[] = [];
  /** The keys of the requests, in order. */
  keys: (string | undefined)[] = [];
  /** The reports of pages on requests that they could not protect. */
  told: string[] = [];
  /** How many of the next answers get lost. */
  lost = 0;
  /** Markup before the guard in the page, and after it. */
  before = "";
  after = "";
  headers: Record<string, string> = {};

  /** Passes requests on to the gateway, and those for /bare past it. */
  async carry(gate: string, bare: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader("Connection", "close"); // Chromium itself repeats a request when a connection that it has used before is cut
    const url = new URL(request.url!, "http://shop");
    const body = await bytesOf(request);
    const how = url.searchParams.get("how");
    const api = /^\/(api|graphql)/.test(url.pathname) && request.method !== "GET";
    if (url.pathname === "/.well-known/semel/page") this.told.push(String(body));
    if (api) this.keys.push(request.headers["idempotency-key"] as string | undefined);
    const lost = api && this.lost > 0 && this.lost--;
    const asked = send(new URL(request.url!, url.pathname === "/bare" ? bare : gate), { method: request.method!, headers: request.headers, setHost: false }, async (answer) => {
      if (lost || how === "cut") return void answer.resume().on("end", () => response.destroy());
      response.writeHead(answer.statusCode!, answer.headers);
      if (how !== "half" || answer.statusCode !== 201) return void answer.pipe(response);
      response.write((await bytesOf(answer)).subarray(0, 5));
      setTimeout(() => response.destroy(), 50); // after what was written is on its way
    });
    asked.on("error", () => response.destroy()).end(body);
    response.on("close", () => asked.destroy());
  }

  /** The application. */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url!, "http://shop");
    const body = String(await bytesOf(request));
    if (pathname === "/worker.js") {
      return void response.writeHead(200, { "Content-Type": "text/javascript" }).end("onfetch = (event) => event.respondWith(fetch(event.request)); onactivate = (event) => event.waitUntil(clients.claim())");
    }
    if (!/^\/(api|graphql)/.test(pathname)) {
      response.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", ...this.headers });
      return void response.end(`<!doctype html><html lang="en"><head><title>Shop</title><link rel="icon" href="data:,">${this.before}</head>
<body>${this.after}<button>Order</button></body></html>`);
    }
    const { status, text } = await this.#effect(pathname, searchParams, body);
    const how = searchParams.get("how");
    if (how === "redirect") return void response.writeHead(303, { Location: "/bare" }).end();
    response.writeHead(status, { "Content-Type": how === "stream" ? "text/event-stream" : "application/json" });
    if (how !== "stream") return void response.end(text);
    response.write("data: 1\n\n");
    await once(response, "close");
  }

  async #effect(pathname: string, searchParams: URLSearchParams, body: string): Promise<{ status: number; text: string }> {
    const delay = Number(searchParams.get("delay"));
    if (pathname === "/graphql") {
      const { query } = JSON.parse(body) as { query: string };
      if (/mutation/.test(query)) this.effects.push(body);
      return { status: 200, text: JSON.stringify({ data: { orders: this.effects.length } }) };
    }
    this.effects.push(body);
    if (delay) await new Promise((answer) => setTimeout(answer, delay)); // the server's work
    return { status: Number(searchParams.get("status") ?? 201), text: JSON.stringify({ order: this.effects.length, text: "å".repeat(Number(searchParams.get("long"))) }) };
  }
}

export const shops = base.extend<{ shop: Shop }>({
  shop: async ({}, use) => {
    const shop = new Shop();
    const application = await serve((request, response) => void shop.serve(request, response).catch(() => response.destroy()));
    const guarded = await gateway(application.url, rules);
    const network = await serve((request, response) => void shop.carry(guarded.url, application.url, request, response).catch(() => response.destroy()));
    shop.url = network.url;
    await use(shop);
    await network.stop();
    await guarded.stop();
    await application.stop();
  },
});

export const test = shops.extend<{ complaints: string[] }>({
  complaints: async ({ page }, use) => {
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(String(error)));
    await use(complaints);
  },
});

/** How an application of the page sends its order. */
export const senders = {
  fetch: `(url, body) => fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body }).then((r) => r.text())`,
  Request: `(url, body) => fetch(new Request(url, { method: "POST", headers: { "Content-Type": "application/json" }, body })).then((r) => r.text())`,
  FormData: `(url, body) => { const data = new FormData(); data.append("order", body); data.append("file", new Blob([body]), "order.txt"); return fetch(url, { method: "POST", body: data }).then((r) => r.text()); }`,
  XHR: `(url, body) => new Promise((resolve, reject) => { const x = new XMLHttpRequest(); x.open("POST", url); x.setRequestHeader("Content-Type", "application/json");
    x.onload = () => resolve(x.responseText); x.onerror = reject; x.send(body); })`,
};

/** Opens the page, whose button sends the order; the answers are in a variable of the page. */
export async function open(page: Page, shop: Shop, sender: keyof typeof senders, url: string, body = '{"item":"tea"}'): Promise<void> {
  await page.goto(shop.url);
  await page.evaluate(`{
    const send = ${senders[sender]};
    window.answers = [];
    document.querySelector("button").onclick = () => send(${JSON.stringify(url)}, ${JSON.stringify(body)}).then((text) => answers.push(text), (error) => answers.push("lost"));
  }`);
}

export const answers = (page: Page, count: number): Promise<string[]> =>
  page.waitForFunction((many) => (window as unknown as { answers: string[] }).answers.length >= many && (window as unknown as { answers: string[] }).answers, count).then((all) => all.jsonValue() as Promise<string[]>);

/** Clicks the button, twice if there is a pause, as a person does. */
export async function click(page: Page, pause?: number, button = page.locator("button")): Promise<void> {
  const { x, y, width, height } = (await button.boundingBox())!;
  await page.mouse.move(x + width / 2, y + height / 2);
  for (const clickCount of pause === undefined ? [1] : [1, 2]) {
    if (clickCount === 2) await page.waitForTimeout(pause!); // the person's pace
    await page.mouse.down({ clickCount });
    await page.mouse.up({ clickCount });
  }
}

/** The gateway in front of an application. */
export interface Front extends Serving {
  /** The bodies of the requests that reached the application. */
  effects: string[];
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of message) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

/** Starts one, whose page guard protects requests to this path. */
export async function front(upstream: string, path: string): Promise<Front> {
  const effects: string[] = [];
  const counting = await serve(async (request, response) => {
    const body = await bytesOf(request);
    if (request.method === "POST") effects.push(String(body));
    send(new URL(request.url!, upstream), { method: request.method!, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    }).end(body);
  });
  const guarded = await gateway(counting.url, `  - {name: act, match: {methods: [POST], path: ${path}}, page: true}\n`);
  return {
    url: guarded.url, effects,
    stop: async () => {
      await guarded.stop();
      await counting.stop();
    },
  };
}
