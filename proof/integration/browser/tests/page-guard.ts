import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type IncomingMessage, request as send, type ServerResponse } from "node:http";
import { resolve } from "node:path";
import { test as base, type Page } from "@playwright/test";
import { serve, type Serving } from "./behind.ts";

const script = resolve(import.meta.dirname, "../../../../web/dist/page.js");

const routes = [
  { name: "orders", methods: ["POST", "PUT"], path: "/api/orders/{rest...}", header: "Idempotency-Key" },
  { name: "orders", methods: ["POST", "PUT"], path: "/api/orders", header: "Idempotency-Key" },
  { name: "graphql", methods: ["POST"], path: "/graphql", header: "Idempotency-Key", graphql: true },
];

/** An answer that was recorded under a key; undefined while it is being made. */
type Recorded = { status: number; body: string } | undefined;

/** A shop whose pages know nothing of keys, and in front of it the least that honours them. */
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
  /** What runs before the guard, and what after it, in the page. */
  before = "";
  after = "";
  headers: Record<string, string> = {};
  readonly #records = new Map<string, Recorded>();

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader("Connection", "close"); // Chromium itself repeats a request when a connection that it has used before is cut
    const url = new URL(request.url!, "http://shop");
    let body = "";
    for await (const part of request) body += String(part);
    if (url.pathname === "/page.js") return void response.writeHead(200, { "Content-Type": "text/javascript" }).end(readFileSync(script));
    if (url.pathname === "/.well-known/semel/page") this.told.push(body);
    if (url.pathname === "/.well-known/semel/page") return void response.writeHead(204).end();
    if (/^\/(api|graphql)/.test(url.pathname)) return this.#api(url, body, request, response);
    const guard = `<script src="/page.js" data-semel-routes='${JSON.stringify(routes)}'></script>`;
    response.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", ...this.headers });
    response.end(`<!doctype html><html lang="en"><head><title>Shop</title><link rel="icon" href="data:,">${this.before}${url.pathname === "/bare" ? "" : guard}${this.after}</head>
<body><button>Order</button></body></html>`);
  }

  async #api(url: URL, body: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const key = request.headers["idempotency-key"] as string | undefined;
    const lost = this.lost > 0 && this.lost--;
    if (request.method !== "GET") this.keys.push(key);
    if (key && this.#records.has(key)) {
      const record = this.#records.get(key);
      const problem = { type: "urn:semel:problem:in-flight", title: "The same request is still being processed" };
      if (!record) return void response.writeHead(409, { "Content-Type": "application/problem+json", "Retry-After": "1" }).end(JSON.stringify(problem));
      return void response.writeHead(record.status, { "Content-Type": "application/json", "Idempotent-Replayed": "true", "Idempotency-Status": "replayed" }).end(record.body);
    }
    if (key) this.#records.set(key, undefined);
    const record = await this.#effect(url, body);
    if (key) this.#records.set(key, record);
    if (lost) return void response.destroy();
    await this.#answer(url, record, response);
  }

  async #effect({ pathname, searchParams }: URL, body: string): Promise<{ status: number; body: string }> {
    const delay = Number(searchParams.get("delay"));
    if (pathname === "/graphql") {
      const { query } = JSON.parse(body) as { query: string };
      if (/mutation/.test(query)) this.effects.push(body);
      return { status: 200, body: JSON.stringify({ data: { orders: this.effects.length } }) };
    }
    this.effects.push(body);
    if (delay) await new Promise((answer) => setTimeout(answer, delay)); // the server's work
    return { status: Number(searchParams.get("status") ?? 201), body: JSON.stringify({ order: this.effects.length, text: "å".repeat(Number(searchParams.get("long"))) }) };
  }

  async #answer({ searchParams }: URL, record: { status: number; body: string }, response: ServerResponse): Promise<void> {
    const how = searchParams.get("how");
    if (how === "cut") return void response.destroy();
    if (how === "redirect") return void response.writeHead(303, { Location: "/bare" }).end();
    response.writeHead(record.status, { "Content-Type": how === "stream" ? "text/event-stream" : "application/json" });
    if (how !== "half" && how !== "stream") return void response.end(record.body);
    response.write(how === "stream" ? "data: 1\n\n" : record.body.slice(0, 5));
    if (how === "half") return void setTimeout(() => response.destroy(), 50); // after what was written is on its way
    await once(response, "close");
  }
}

export const test = base.extend<{ shop: Shop; complaints: string[] }>({
  shop: async ({}, use) => {
    const shop = new Shop();
    const serving = await serve((request, response) => void shop.serve(request, response).catch(() => response.destroy()));
    shop.url = serving.url;
    await use(shop);
    await serving.stop();
  },
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

/** A proxy of an application: it puts the script into pages, and answers a key that it knows. */
export interface Front extends Serving {
  /** The bodies of the requests that it carried out. */
  effects: string[];
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of message) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

/** Starts one, for its requests to this path. */
export async function front(upstream: string, path: string): Promise<Front> {
  const effects: string[] = [];
  const records = new Map<string, Promise<[number, Record<string, string>, Buffer]>>();
  const element = `<script src="/page.js" data-semel-routes='[{"name":"act","methods":["POST"],"path":"${path}","header":"Idempotency-Key"}]'></script>`;
  const ask = (request: IncomingMessage, body: Buffer) => new Promise<[number, Record<string, string>, Buffer]>((resolve, reject) => {
    const headers = { ...request.headers, "accept-encoding": "identity" };
    const asked = send(new URL(request.url!, upstream), { method: request.method!, headers }, async (answer) => {
      const { "transfer-encoding": _, "content-length": __, ...rest } = answer.headers as Record<string, string>;
      resolve([answer.statusCode!, rest, await bytesOf(answer)]);
    });
    asked.on("error", reject).end(body);
  });
  const serving = await serve(async (request, response) => {
    if (request.url === "/page.js") return void response.writeHead(200, { "Content-Type": "text/javascript" }).end(readFileSync(script));
    const body = await bytesOf(request);
    const key = request.headers["idempotency-key"] as string | undefined;
    const answering = (key && records.get(key)) || ask(request, body);
    if (request.method === "POST" && !records.has(key ?? "")) effects.push(String(body));
    if (key) records.set(key, answering);
    const [status, headers, text] = await answering;
    const html = headers["content-type"]?.startsWith("text/html");
    response.writeHead(status, headers).end(html ? String(text).replace("</head>", `${element}</head>`) : text);
  });
  return { ...serving, effects };
}
