import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { expect, test as base } from "@playwright/test";

/** What came by POST. */
export interface Arrived {
  path: string;
  fields: [string, string][];
}

/** A small site whose pages and answers a test writes itself. */
export interface Site {
  url: string;
  /** The content of the page at every address that is not a script. */
  page: string;
  /** Answers a POST; by default with 303 to /done. */
  answer: (request: Arrived, response: ServerResponse) => void | Promise<void>;
  arrived: Arrived[];
}

const dist = resolve(import.meta.dirname, "../../../../web/dist");

async function begin(): Promise<{ site: Site; end: () => Promise<void> }> {
  const site: Site = {
    url: "", page: "", arrived: [],
    answer: (_, response) => void response.writeHead(303, { Location: "/done" }).end(),
  };
  const server = createServer((request, response) => void serve(site, request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  site.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    site,
    end: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

async function serve(site: Site, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url ?? "/";
  if (request.method === "POST") {
    let body = "";
    for await (const part of request) body += part;
    const one = { path, fields: [...new URLSearchParams(body)] };
    site.arrived.push(one);
    await site.answer(one, response);
    return;
  }
  if (path.endsWith(".js")) {
    response.writeHead(200, { "Content-Type": "text/javascript" }).end(readFileSync(resolve(dist, path.slice(1))));
    return;
  }
  const content = path.startsWith("/done") ? "<h1>Done</h1>" : site.page;
  response.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache" });
  response.end(`<!doctype html><html lang="en"><title>A page</title><link rel="icon" href="data:,">
<script defer src="/guard.js"></script><main>${content}</main></html>`);
}

/** Tests get a site of their own, and one of another origin. */
export const test = base.extend<{ site: Site; elsewhere: Site }>({
  site: async ({}, use) => {
    const { site, end } = await begin();
    await use(site);
    await end();
  },
  elsewhere: async ({}, use) => {
    const { site, end } = await begin();
    await use(site);
    await end();
  },
});

export { expect };
