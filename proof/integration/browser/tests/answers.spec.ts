import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { expect, type Page, test as base } from "@playwright/test";

// Answers that break off, as testdata/vectors/answers.json has them, against the scripts as they are published.

interface Case {
  case: string;
  status: number;
  framing: string;
  verdict: "answer" | "again" | "rest";
}

const root = resolve(import.meta.dirname, "../../../..");
const vectors = resolve(root, "testdata/vectors/answers.json");
const { cases } = JSON.parse(readFileSync(vectors, "utf8")) as { cases: Case[] };

// Over plain HTTP, and only there, Chromium takes a header that is cut for a whole one.
const chromiums = ["cut in the header", "reset in the header"];

const test = base.extend<{ origins: { http1: string; http2: string } }>({
  origins: async ({}, use) => {
    const server = spawn(process.env.SEMEL_TEST_ANSWERS!, [vectors], { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface(server.stdout)[Symbol.asyncIterator]();
    await use({ http1: (await lines.next()).value as string, http2: (await lines.next()).value as string });
    server.stdin.end();
  },
});

test.use({ ignoreHTTPSErrors: true });

/** What a wish came to: the statuses of its presses, 0 for an error, and how many keys were seen for how many requests. */
interface Wish {
  presses: (number | string)[];
  requests: number;
  keys: number;
}

/** Presses until an answer has come whole. */
function wish(page: Page, entry: string, title: string): Promise<Wish> {
  return page.evaluate(async ([entry, title]) => {
    Math.random = () => 0; // no pause between attempts
    const url = `/${entry}/${encodeURIComponent(title!)}`;
    const { semelFetch } = (await import("/semel.js" as string)) as typeof import("../../../../web/src/semel.ts");
    const presses = [];
    for (let n = 0; n < 3; n++) {
      try {
        const response = await semelFetch(url, { method: "POST", body: "{}" }, { intent: "order", attempts: 3 });
        await response.text();
        presses.push(response.status);
        break;
      } catch (error) {
        presses.push((error as { kind?: string }).kind ?? String(error));
      }
    }
    const keys = (await (await fetch(url)).json()) as string[];
    return { presses, requests: keys.length, keys: new Set(keys).size };
  }, [entry, title]);
}

/** Submits a form by htmx: whether its draft has ended, and how many keys were seen for how many requests. */
async function submit(page: Page, title: string): Promise<{ ended: boolean; requests: number; keys: number }> {
  return page.evaluate(async (title) => {
    Math.random = () => 0;
    const url = `/htmx/${encodeURIComponent(title)}`;
    document.body.innerHTML = `<form hx-post="${url}" hx-swap="none" data-semel data-semel-hold><button>Order</button></form>`;
    const form = document.querySelector("form")!;
    (window as unknown as { htmx: { process(element: Element): void } }).htmx.process(form);
    const settled = new Promise<boolean>((tell) =>
      form.addEventListener("semel:settle", (event) => tell((event as CustomEvent<{ definitive: boolean }>).detail.definitive)));
    form.requestSubmit();
    const ended = await settled;
    const keys = (await (await fetch(url)).json()) as string[];
    return { ended, requests: keys.length, keys: new Set(keys).size };
  }, title);
}

for (const framing of ["http1", "http2"] as const) {
  const chosen = cases.filter((each) => (each.framing === "http2") === (framing === "http2") && !chromiums.includes(each.case));

  test(`semelFetch, ${framing}: an answer that breaks off is sent for again under its key`, async ({ page, origins }) => {
    await page.goto(origins[framing]);
    for (const { case: title, status, verdict } of chosen) {
      const { presses, requests, keys } = await wish(page, "fetch", title);
      const want = verdict === "answer" ? [status] : verdict === "rest" && presses[0] === "unknown" ? ["unknown", 201] : [201];
      // Chromium may report the end of a connection before what came until then: a long answer is then sent for again.
      expect.soft({ presses, keys }, title).toEqual({ presses: want, keys: 1 });
      expect.soft(requests > 1, title).toBe(verdict !== "answer");
    }
  });

  test(`htmx, ${framing}: a draft ends when its answer has come whole`, async ({ page, origins }) => {
    await page.goto(origins[framing]);
    await page.addScriptTag({ path: resolve(root, "web/node_modules/htmx.org/dist/htmx.js") });
    await page.addScriptTag({ url: "/htmx.js", type: "module" });
    for (const { case: title, verdict } of chosen) {
      const { ended, requests, keys } = await submit(page, title);
      expect.soft({ ended, keys }, title).toEqual({ ended: verdict !== "rest" || requests > 1, keys: 1 }); // likewise
    }
  });
}
