import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { test as base } from "@playwright/test";

const dist = resolve(import.meta.dirname, "../../../../web/dist");

/** How many scripts the page loads one after the other: waiting for each alone would take longer than a test does. */
export const scripts = 20;

/** How a request for a file of the shell is answered. */
export type Mode = "answered" | "silent" | "held" | "half-held" | "stalled" | "cut" | "signed-out" | "to-sign-in" | number;

/** A server with a page that loads without a network. */
export class ShellSite {
  url = "";
  mode: Mode = "answered";
  /** Whether a script's address is answered with a page. */
  portal = false;
  /** What the page and each of its scripts say. */
  version = 1;
  readonly #held: (() => void)[] = [];

  serve(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? "/";
    const files = ["/page.html", ...Array.from({ length: scripts }, (_, n) => `/${n}.js`)];
    if (path === "/sw.js") return script(response, readFileSync(`${dist}/sw.js`, "utf8"));
    if (path === "/worker.js") return script(response, `importScripts("/sw.js"); semelWorker.serveQueue({ shell: ${JSON.stringify(files)} });`);
    if (path === "/login") return html(response, 200, "<h1>Sign in</h1>");
    if (!files.includes(path)) return html(response, 200, "<h1>Home</h1>");
    this.#file(path, response);
  }

  #file(path: string, response: ServerResponse): void {
    const { mode } = this;
    if (mode === "silent") return;
    if (mode === "held") return void this.#held.push(() => this.#answer(path, response));
    if (mode === "half-held") { // its header comes at once
      response.writeHead(200, { "Content-Type": path.endsWith(".js") ? "text/javascript" : "text/html" }).flushHeaders();
      return void this.#held.push(() => this.#answer(path, response));
    }
    if (mode === "stalled" || mode === "cut") {
      response.writeHead(200, { "Content-Type": path.endsWith(".js") ? "text/javascript" : "text/html", "Content-Length": "1000" });
      response.write("<h1>half");
      if (mode === "cut") setImmediate(() => response.destroy());
      return;
    }
    if (mode === "to-sign-in") return void response.writeHead(302, { Location: "/login" }).end();
    if (mode === "signed-out") return html(response, 401, "<h1>Sign in</h1>");
    if (typeof mode === "number") return html(response, mode, `<h1>${mode}</h1>`);
    if (this.portal && path.endsWith(".js")) return html(response, 200, "<h1>Accept the terms</h1>");
    this.#answer(path, response);
  }

  #answer(path: string, response: ServerResponse): void {
    const { version } = this;
    if (path === "/page.html") {
      return html(response, 200, `<h1>page ${version}</h1><script type="module">
        import { last } from "/0.js"; document.querySelector("h1").textContent += ", script " + last;</script>`);
    }
    const n = Number(/\d+/.exec(path)![0]);
    script(response, n + 1 < scripts ? `const { last } = await import("/${n + 1}.js"); export { last };` : `export const last = ${version};`);
  }

  /** Answers what was held. */
  release(): void {
    this.mode = "answered";
    for (const answer of this.#held.splice(0)) answer();
  }
}

function script(response: ServerResponse, text: string): void {
  if (!response.headersSent) response.writeHead(200, { "Content-Type": "text/javascript", "Cache-Control": "no-store" });
  response.end(text);
}

function html(response: ServerResponse, status: number, text: string): void {
  if (!response.headersSent) response.writeHead(status, { "Content-Type": "text/html", "Cache-Control": "no-store" });
  response.end(`<!doctype html><title>Shell</title><link rel="icon" href="data:,">${text}`);
}

export const test = base.extend<{ site: ShellSite }>({
  site: async ({}, use) => {
    const site = new ShellSite();
    const server = createServer((request, response) => site.serve(request, response));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    site.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await use(site);
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  },
});

/** In a page: registers the worker, and resolves when it has the page; the reason when it is not installed. */
export async function register(): Promise<string> {
  try {
    const registration = await navigator.serviceWorker.register("/worker.js");
    const worker = registration.installing ?? registration.waiting ?? registration.active!;
    const state = await new Promise((resolve) => {
      const look = (): void => void (/^(activated|redundant)$/.test(worker.state) && resolve(worker.state));
      worker.addEventListener("statechange", look);
      look();
    });
    if (state === "redundant") return "refused";
    if (!navigator.serviceWorker.controller) {
      await new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve, { once: true }));
    }
    return "installed";
  } catch (error) {
    return String(error);
  }
}

/** In a page: all that is kept, by path. */
export async function kept(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of await caches.keys()) {
    const cache = await caches.open(name);
    for (const request of await cache.keys()) found[new URL(request.url).pathname] = await (await cache.match(request))!.text();
  }
  return found;
}
