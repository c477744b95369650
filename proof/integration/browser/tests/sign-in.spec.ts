import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Page, expect, test as base } from "@playwright/test";
import { start } from "./program.ts";

// An application as frameworks write it: a visitor who is not signed in is sent to /login, and /login leads on to /home for
// one who is. A real gateway is in front of it, and the shipped scripts are in its pages.

const dist = resolve(import.meta.dirname, "../../../../web/dist");

const rules = `version: 1
routes:
  - name: orders
    match: {methods: [POST], path: /orders}
    scope: [{header: X-Account}]
  - name: notes
    match: {methods: [POST], path: /notes}
    form: true
`;

/** The application behind the gateway. */
class Application {
  /** The gateway's address. */
  url = "";
  /** The session's cookie: sessionid is one that the gateway knows readers by, sid is not. */
  cookie = "sid";
  sessions = new Set<string>();
  #signedIn = 0;
  /** What was made, by path. */
  made: Record<string, string[]> = { "/orders": [], "/notes": [] };
  /** POST requests that were turned away. */
  refused = 0;
  /** Called when one was turned away, before the answer goes out. */
  onRefusal: (session: string) => void = () => undefined;

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const part of request) body += part;
    const { pathname } = new URL(request.url ?? "/", "http://shop.test");
    const session = new RegExp(`(?:^|; )${this.cookie}=(\\w+)`).exec(request.headers.cookie ?? "")?.[1] ?? "";
    const known = this.sessions.has(session);
    const redirect = (to: string, more = {}): void => void response.writeHead(302, { Location: to, ...more }).end();
    if (pathname.endsWith(".js")) {
      return void response.writeHead(200, { "Content-Type": "text/javascript" }).end(readFileSync(join(dist, pathname)));
    }
    if (request.method === "POST" && pathname === "/login") {
      const fresh = `s${++this.#signedIn}`;
      this.sessions.add(fresh);
      return redirect("/home", { "Set-Cookie": `${this.cookie}=${fresh}; Path=/; HttpOnly; SameSite=Lax` });
    }
    if (request.method === "POST" && !known) {
      this.refused++;
      this.onRefusal(session);
      return redirect("/login");
    }
    if (request.method === "POST") {
      const number = this.made[pathname]!.push(body);
      if (pathname === "/notes") return redirect(`/notes/${number}`);
      return void response.writeHead(201, { "Content-Type": "application/json" }).end(JSON.stringify({ number }));
    }
    if (pathname === "/login" && known) return redirect("/home");
    if (pathname === "/new" && !known) return redirect("/login");
    response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" });
    response.end(`<!doctype html><html lang="en"><title>Shop</title><link rel="icon" href="data:,"><body><h1>${pathname}</h1>${contents[pathname] ?? ""}</body></html>`);
  }
}

const contents: Record<string, string> = {
  "/login": `<form method="post" action="/login"><button>Sign in</button></form>`,
  "/new": `<form method="post" action="/notes"><label>Note <input name="note"></label><button>Save</button></form>`,
  "/queue": `<script type="module">
    import { openQueue } from "/queue.js";
    globalThis.queue = openQueue({ owner: "ada", headers: () => ({ "X-Account": "ada" }) });
  </script>`,
};

const test = base.extend<{ app: Application }>({
  app: async ({}, use) => {
    const app = new Application();
    const server = createServer((request, response) => void app.serve(request, response));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const dir = mkdtempSync(join(tmpdir(), "semel-sign-in-"));
    writeFileSync(join(dir, "semel.yaml"), rules);
    const gateway = await start(process.env.SEMEL_TEST_BIN ?? "semel", [
      "gateway", "--upstream", `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--store", "memory:", "--rules", join(dir, "semel.yaml"),
    ]);
    app.url = gateway.addresses.listen!;
    await use(app);
    await gateway.stop();
    server.close();
    server.closeAllConnections();
    rmSync(dir, { recursive: true, force: true });
  },
});

async function signIn(page: Page, app: Application): Promise<void> {
  await page.goto(`${app.url}/login`);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page).toHaveURL(/\/home$/);
}

test.describe("the queue meets an expired session", () => {
  const add = (page: Page) => page.evaluate(async () => void (await queue.add("/orders", { body: { customer: "Ada" } })));
  const entries = (page: Page) => page.evaluate(async () => (await queue.list()).map(({ state, reason }) => [state, reason?.word]));

  test("after signing in the order is made, once", async ({ page, app }) => {
    await page.goto(`${app.url}/queue`);
    await add(page);
    await expect.poll(() => entries(page)).toEqual([["waiting", "sign-in"]]);
    await signIn(page, app);
    await page.goto(`${app.url}/queue`);
    await expect.poll(() => entries(page)).toEqual([["done", undefined]]);
    expect(app.made["/orders"]).toEqual([`{"customer":"Ada"}`]);
  });

  test("somebody signs in while the redirect is on its way: the home page is not the order", async ({ page, app }) => {
    await signIn(page, app);
    await page.goto(`${app.url}/queue`);
    app.sessions.clear();
    app.onRefusal = (session) => void app.sessions.add(session); // in another tab
    await add(page);
    await expect.poll(() => entries(page)).toEqual([["waiting", "sign-in"]]);
    expect([app.refused, app.made["/orders"]!.length]).toEqual([1, 0]);
    await page.evaluate(() => queue.resume());
    await expect.poll(() => entries(page)).toEqual([["done", undefined]]);
    expect(app.made["/orders"]).toEqual([`{"customer":"Ada"}`]);
  });
});

for (const javaScriptEnabled of [true, false]) {
  test.describe(`a form meets an expired session, ${javaScriptEnabled ? "with" : "without"} scripts`, () => {
    test.use({ javaScriptEnabled });

    /** Sends the form with a session that has ended, and signs in where that leads. */
    async function sendSignedOut(page: Page, app: Application): Promise<void> {
      await signIn(page, app);
      await page.goto(`${app.url}/new`);
      app.sessions.clear();
      await page.getByLabel("Note").fill("buy tea");
      await page.getByRole("button", { name: "Save" }).click();
      await expect(page).toHaveURL(/\/login$/);
      await expect(page.locator(".semel-notice")).toHaveCount(0);
      await page.getByRole("button", { name: "Sign in" }).click();
      await expect(page).toHaveURL(/\/home$/);
      expect([app.refused, app.made["/notes"]!.length]).toEqual([1, 0]);
    }

    async function save(page: Page): Promise<void> {
      await page.getByLabel("Note").fill("buy tea");
      await page.getByRole("button", { name: "Save" }).click();
      await expect(page.getByRole("heading")).toHaveText("/notes/1");
    }

    test("signed in again, Back, sent again: done once", async ({ page, app }) => {
      await sendSignedOut(page, app);
      await page.goBack();
      await page.goBack();
      await expect(page).toHaveURL(/\/new$/);
      await save(page);
      await expect(page.locator(".semel-notice")).toHaveCount(0);
      expect(app.made["/notes"]).toEqual(["note=buy+tea"]);
      await page.goBack(); // and the second time it is a repetition
      await save(page);
      await expect(page.locator(".semel-notice")).toHaveCount(1);
      expect(app.made["/notes"]).toEqual(["note=buy+tea"]);
    });

    for (const cookie of ["sid", "sessionid"]) {
      test(`signed in again, the form opened anew: done once (${cookie})`, { tag: cookie === "sid" ? [] : "@long" }, async ({ page, app }) => {
        app.cookie = cookie;
        await sendSignedOut(page, app);
        await page.goto(`${app.url}/new`);
        await save(page);
        await expect(page.locator(".semel-notice")).toHaveCount(0);
        expect(app.made["/notes"]).toEqual(["note=buy+tea"]);
      });
    }
  });
}
