import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Demo } from "../tests/demo.ts";
import { invoices, requests } from "../tests/demo.ts";
import { expect, landed, middle, open, press, test } from "./firefox.ts";
import type { BrowserContext } from "puppeteer-core";

// Firefox can send an Idempotency-Key of its own, which is another one for every submission. Scripts are off, so that
// all of them reach the gateway.
test.use({ preferences: { "network.http.idempotencyKey.enabled": true, "javascript.enabled": false } });

/** The keys that this Firefox adds on its own to two submissions of one form. */
async function ownKeys(person: BrowserContext): Promise<(string | undefined)[]> {
  const keys: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    if (request.method === "POST") keys.push(request.headers["idempotency-key"]?.toString());
    response.setHeader("Content-Type", "text/html");
    response.end(`<!doctype html><title>Form ${keys.length}</title><form method=post><button type=submit>Send</button></form>`);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const page = await person.newPage();
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  for (const sent of [1, 2]) {
    await press(page);
    await expect.poll(() => page.title().catch(() => "")).toBe(`Form ${sent}`); // the page that answers, whose button is another one
  }
  await page.close();
  server.close();
  return keys;
}

/** Presses the button three times while the first answer is on its way. */
async function insist(person: BrowserContext, demo: Demo): Promise<void> {
  await demo.network("protected", "delay", 800);
  const page = await open(person, demo, "protected", "two names for one wish");
  const [x, y] = await middle(page);
  for (const sent of [1, 2, 3]) {
    await page.mouse.click(x, y);
    await requests(demo, "protected", sent);
  }
  await landed(page, 1);
}

test("a key that the browser adds does not outrank the form's", async ({ person, demo }) => {
  const [one, two] = await ownKeys(person);
  expect(one, "Firefox adds a key").toMatch(/^"\d+"$/);
  expect(two, "and another one to the same form").not.toBe(one);
  await insist(person, demo);
  await invoices(demo, "protected", 1);
});
