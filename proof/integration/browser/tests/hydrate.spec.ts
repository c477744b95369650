import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { RequestListener, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type Page, type Request, type Response, expect, test as base } from "@playwright/test";
import { formOf, gateway, serve } from "./behind.ts";
import { listen } from "./demo.ts";
import { click, front } from "./page-guard.ts";

// Frameworks compare a page with their own rendering, and draw it anew when they find a difference: then the gateway's token is
// gone, without a word. They run as in development, where they report each difference.

/** An application, and how many orders it took. */
interface Application {
  url: string;
  orders(): Promise<number>;
  stop(): Promise<void>;
}

const folder = resolve(import.meta.dirname, "..");

/** Each framework's source in this folder, and where its packages are. React 19 keeps hidden fields that it did not draw, the others do not. */
const frameworks = {
  "React 19": { source: "react", packages: "node_modules", names: ["react", "react-dom"], roots: ["the document", "a div"] },
  "React 18": { source: "react", packages: "react18/node_modules", names: ["react", "react-dom"], roots: ["the document", "a div"] },
  "Vue 3": { source: "vue", packages: "../../../web/node_modules", names: ["vue"], roots: ["a div"] },
} as const;
type Framework = keyof typeof frameworks;

/** What a framework runs in the page, and how it answers with the page that it draws at the server. */
interface Drawing {
  script: string;
  answer(root: string, script: string, response: ServerResponse): void;
}

const test = base.extend<{ complaints: string[] }, { drawing: (framework: Framework) => Promise<Drawing> }>({
  drawing: [
    async ({}, use) => {
      const esbuild = resolve(folder, "../../../web/node_modules/esbuild/bin/esbuild");
      const dir = mkdtempSync(join(tmpdir(), "semel-hydrate-"));
      await use(async (framework) => {
        const { source, packages, names } = frameworks[framework];
        const bundle = (file: string, ...more: string[]) => execFileSync(esbuild, [
          join(import.meta.dirname, file), "--bundle", '--define:process.env.NODE_ENV="development"', "--define:__VUE_OPTIONS_API__=false",
          "--define:__VUE_PROD_DEVTOOLS__=false", "--define:__VUE_PROD_HYDRATION_MISMATCH_DETAILS__=true", "--log-level=warning",
          ...names.map((name) => `--alias:${name}=${join(folder, packages, name)}`), ...more,
        ], { maxBuffer: 1 << 24 }).toString();
        const server = join(dir, framework + ".cjs");
        bundle(`hydrate-${source}.ts`, "--platform=node", `--outfile=${server}`);
        const { answer } = (await import(pathToFileURL(server).href)) as Drawing;
        return { script: bundle(`hydrate-${source}-page.ts`), answer };
      });
      rmSync(dir, { recursive: true });
    },
    { scope: "worker" },
  ],
  complaints: [
    async ({ context }, use) => {
      const complaints: string[] = [];
      listen(context, complaints);
      await use(complaints);
      expect(complaints, "the console is silent").toEqual([]);
    },
    { auto: true },
  ],
});

/** Serves a page at /new, takes orders at /orders, and shows each of them. */
async function application(bundle: string, page: RequestListener): Promise<Application> {
  let orders = 0;
  const serving = await serve(async (request, response) => {
    if (request.method === "POST") {
      await formOf(request);
      response.writeHead(303, { Location: `/orders/${++orders}` }).end();
    } else if (request.url === "/app.js") {
      response.writeHead(200, { "Content-Type": "text/javascript" }).end(bundle);
    } else if (request.url === "/new") {
      response.setHeader("Content-Type", "text/html; charset=utf-8");
      page(request, response);
    } else {
      response.writeHead(200, { "Content-Type": "text/html" }).end(`<!doctype html><html lang="en"><title>Order</title><link rel="icon" href="data:,"><h1>${request.url}</h1></html>`);
    }
  });
  return { ...serving, orders: async () => orders };
}

/** Starts Next's own server with the pages in next/, as its own build made them. */
async function next(): Promise<Application> {
  const home = join(folder, "next");
  execFileSync(resolve(folder, "../../../scripts/npm-ci"), [home], { stdio: "inherit" });
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production" as const };
  const program = join(home, "node_modules/next/dist/bin/next");
  execFileSync(process.execPath, [program, "build"], { cwd: home, env, stdio: "inherit" });
  const free = await serve(() => {});
  const { port } = new URL(free.url);
  await free.stop();
  const child = spawn(process.execPath, [program, "start", "-H", "127.0.0.1", "-p", port], { cwd: home, env, stdio: "ignore" });
  const orders = async () => ((await (await fetch(`${free.url}/orders`)).json()) as string[]).length;
  await expect.poll(() => orders().catch(() => -1)).toBe(0);
  return {
    url: free.url, orders,
    stop: async () => {
      child.kill();
      await once(child, "exit");
    },
  };
}

const order = (page: Page) => page.getByRole("button", { name: "Order" });

/** Opens the form, and waits until its framework has taken it over. */
async function open(page: Page, url: string, framework: boolean): Promise<void> {
  await page.goto(url);
  if (framework) await expect(page.getByText("Drawn by the browser")).toBeVisible();
}

/** What there is about a form behind the gateway. */
interface Kind {
  /** The script of the gateway is in the page. */
  guarded: boolean;
  framework?: boolean;
  /** Back draws the page anew, which without the script has another token: the same again is another wish. */
  anew?: boolean;
}

/** Does to the form what people do: each wish is one order. */
async function oneWishOneOrder(page: Page, url: string, shop: Application, { guarded, framework = true, anew = false }: Kind): Promise<void> {
  const before = await shop.orders();
  const sent: string[] = [];
  const note = (request: Request) => void (request.method() === "POST" && sent.push(request.postData() ?? ""));
  page.on("request", note);
  await open(page, url, framework);
  expect(await page.evaluate(() => typeof (globalThis as { semel?: { guardForm?: unknown } }).semel?.guardForm), "the guard is at work").toBe(guarded ? "function" : "undefined");
  await page.getByLabel("Item").fill(`tea ${before}`);
  const box = (await order(page).boundingBox())!;
  await page.mouse.click(box.x + 5, box.y + 5, { clickCount: 2 });
  await expect(page).not.toHaveURL(url);
  const landed = page.url();
  expect(await shop.orders()).toBe(before + 1);
  expect(sent[0], "the token is sent").toMatch(/^(.*&)?_semel=sm1\./);
  if (guarded) expect(sent, "the guard stops the second click").toHaveLength(1);
  await page.goBack();
  if (framework) await expect(page.getByText("Drawn by the browser")).toBeVisible();
  await page.getByLabel("Item").fill(`tea ${before}`);
  await order(page).click();
  if (anew && !guarded) await expect(page).not.toHaveURL(landed);
  else await expect(page).toHaveURL(landed);
  expect(await shop.orders()).toBe(before + (anew && !guarded ? 2 : 1));
  expect(sent.at(-1), "the token is sent again").toMatch(/^(.*&)?_semel=sm1\./);
  page.off("request", note);
}

const rule = "  - {name: orders, match: {methods: [POST], path: /orders}, form: ";

for (const framework of Object.keys(frameworks) as Framework[]) {
  for (const root of frameworks[framework].roots) {
    const scripts = root === "the document" ? ["async"] : ["async", "defer", 'type="module"'];
    for (const script of scripts) {
      for (const guarded of framework === "React 19" ? [true, false] : [true]) {
        test(`${framework} hydrates ${root} by a script that is ${script}, form: {script: ${guarded}}`, async ({ page, drawing }) => {
          const { script: bundle, answer } = await drawing(framework);
          const shop = await application(bundle, (_, response) => answer(root, script, response));
          const front = await gateway(shop.url, `${rule}{script: ${guarded}}}\n`);
          await oneWishOneOrder(page, `${front.url}/new`, shop, { guarded });
          await front.stop();
          await shop.stop();
        });
      }
    }
  }
}

for (const framework of ["React 19", "React 18"] as const) {
  test(`${framework} draws the page anew by a mistake of its own`, async ({ page, drawing, complaints }) => {
    const { script, answer } = await drawing(framework);
    const shop = await application(script, (_, response) => answer("a page of its own", "defer", response));
    const front = await gateway(shop.url, `${rule}true}\n`);
    await oneWishOneOrder(page, `${front.url}/new`, shop, { guarded: true });
    expect(complaints.join()).toContain("ydrat");
    complaints.length = 0;
    await front.stop();
    await shop.stop();
  });
}

// A page may hold its policy itself, where the browser reads it as it does a header.
const policies = {
  "in a header, with a nonce": { header: "script-src 'nonce-cGFnZQ'", guarded: true },
  "in a meta element, with a nonce": { meta: "script-src 'nonce-cGFnZQ'", guarded: true },
  "in a meta element that allows the script": { meta: "script-src 'self'", guarded: true },
  "in a meta element without a nonce": { meta: "script-src https://cdn.example", guarded: false },
  "in a meta element that allows no scripts": { meta: "default-src 'none'; form-action 'self'; img-src data:", guarded: false },
} as const;

for (const [where, policy] of Object.entries(policies)) {
  test(`a policy ${where}`, async ({ page }) => {
    const { header, meta, guarded } = { header: "", meta: "", ...policy };
    const shop = await application("", (_, response) => {
      if (header) response.setHeader("Content-Security-Policy", header);
      const element = meta && `<meta http-equiv="Content-Security-Policy" content="${meta}">`;
      response.end(`<!doctype html><html lang="en"><head>${element}<title>Order</title><link rel="icon" href="data:,"></head><body><form method="post" action="/orders"><label>Item <input name="item"></label><button>Order</button></form></body></html>`);
    });
    const front = await gateway(shop.url, `${rule}true}\n`);
    await oneWishOneOrder(page, `${front.url}/new`, shop, { guarded, framework: false });
    await front.stop();
    await shop.stop();
  });
}

test.describe("Next", { tag: "@long" }, () => {
  test("hydrates its pages, of either router", async ({ page }) => {
    test.setTimeout(600_000); // it is installed and built
    const shop = await next();
    for (const script of [true, false]) {
      const front = await gateway(shop.url, `${rule}{script: ${script}}}\n`);
      for (const path of ["/new", "/plain"]) await oneWishOneOrder(page, front.url + path, shop, { guarded: script, anew: path === "/new" }); // Next says no-store of /new
      await front.stop();
    }
    await actions(page, shop);
    await shop.stop();
  });
});

/** Presses what Server Actions are behind, in a page with the script of the page guard: each wish is one request that is carried out. */
async function actions(page: Page, shop: Application): Promise<void> {
  const guarded = await front(shop.url, "/act");
  await page.goto(`${guarded.url}/act`);
  await expect(page.getByText("Drawn by the browser")).toBeVisible();
  for (const name of ["Order", "Order here", "Remove 7", "Remove 8", "Add"]) {
    const button = page.getByRole("button", { name, exact: true });
    for (const pause of [60, undefined]) {
      const before = guarded.effects.length;
      const answers = pause ? 2 : 1;
      let answered = 0;
      const note = (response: Response) => void (response.request().method() === "POST" && answered++);
      page.on("response", note);
      await click(page, pause, button);
      await expect.poll(() => answered, name).toBe(answers);
      page.off("response", note);
      expect(guarded.effects.length, `${name}, ${answers} times`).toBe(before + 1);
    }
  }
  await guarded.stop();
}
