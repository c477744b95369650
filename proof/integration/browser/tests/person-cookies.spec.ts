import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test as base } from "@playwright/test";
import { start } from "./program.ts";

const rules = `version: 1
routes:
  - {name: orders, match: {methods: [POST], path: /orders}, form: true}
`;

/** An application behind `semel gateway`, and a page of another site that has its form in a frame. */
interface Behind {
  gateway: string;
  embedding: string;
  orders: string[];
}

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const test = base.extend<{ behind: Behind }>({
  behind: async ({}, use) => {
    const behind: Behind = { gateway: "", embedding: "", orders: [] };
    const application = createServer((request, response) => void (async () => {
      let body = "";
      for await (const part of request) body += part;
      if (request.method === "POST") {
        behind.orders.push(body);
        response.writeHead(303, { Location: `/orders/${behind.orders.length}` }).end();
        return;
      }
      response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(request.url === "/new"
        ? '<!doctype html><html lang="en"><title>New</title><link rel="icon" href="data:,"><form method="post" action="/orders"><input name="a" value="1"><button>Send</button></form></html>'
        : `<!doctype html><html lang="en"><title>Order</title><link rel="icon" href="data:,"><h1>${request.url}</h1></html>`);
    })());
    const file = join(mkdtempSync(join(tmpdir(), "semel-rules-")), "rules.yaml");
    writeFileSync(file, rules);
    const program = await start(process.env.SEMEL_TEST_BIN ?? "semel", [
      "gateway", "--listen", "127.0.0.1:0", "--upstream", `http://127.0.0.1:${await listening(application)}`, "--rules", file, "--store", "memory:", "--log-level", "error", "--admin", "127.0.0.1:0",
    ]);
    behind.gateway = program.addresses.gateway ?? Object.values(program.addresses)[0]!;
    if (!behind.gateway.startsWith("http")) behind.gateway = `http://${behind.gateway}`;
    const embedding = createServer((_, response) => void response.writeHead(200, { "Content-Type": "text/html" })
      .end(`<!doctype html><html lang="en"><title>Elsewhere</title><iframe src="${behind.gateway}/new" title="order"></iframe></html>`));
    behind.embedding = `http://localhost:${await listening(embedding)}`; // another site than 127.0.0.1
    await use(behind);
    await program.stop();
    for (const server of [application, embedding]) {
      server.close();
      server.closeAllConnections();
    }
  },
});

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? "with scripts" : "without scripts", { tag: javaScriptEnabled ? "@long" : [] }, () => {
    test.use({ javaScriptEnabled });

    test("a form in a frame of another site's page is sent, once, and a refusal can be read there", async ({ page, behind }) => {
      let stale = false;
      await page.route("**/orders", (route) => {
        const body = route.request().postData();
        return route.continue(stale ? { postData: body!.replace(/sm1\.[\w-]{50}/, "sm1." + "A".repeat(50)) } : {});
      });
      await page.goto(behind.embedding);
      const frame = page.frameLocator("iframe");
      await frame.getByRole("button", { name: "Send" }).click();
      await expect(frame.getByRole("heading")).toHaveText("/orders/1");
      await page.goto(behind.embedding);
      await frame.getByRole("button", { name: "Send" }).dblclick();
      await expect(frame.getByRole("heading")).toHaveText("/orders/2");
      expect(behind.orders).toEqual(["a=1", "a=1"]); // two pages, two wishes
      expect(await page.context().cookies()).toEqual(expect.not.arrayContaining([expect.objectContaining({ name: "semel_visitor" })]));
      await page.goto(behind.embedding);
      await frame.getByRole("button", { name: "Send" }).waitFor();
      stale = true;
      await frame.getByRole("button", { name: "Send" }).click();
      await expect(frame.getByRole("heading")).toHaveText("This page is out of date");
      stale = false;
      await frame.getByRole("link", { name: "Go back to the form" }).click();
      await expect(frame.getByRole("button", { name: "Send" })).toBeVisible();
    });
  });
}

test("a browser whose cookies are blocked sends a form, once", { tag: "@whole" }, async ({ playwright, launchOptions, behind }) => {
  const profile = mkdtempSync(join(tmpdir(), "semel-profile-"));
  mkdirSync(join(profile, "Default"));
  writeFileSync(join(profile, "Default", "Preferences"), JSON.stringify({ profile: { default_content_setting_values: { cookies: 2 } } }));
  const context = await playwright.chromium.launchPersistentContext(profile, launchOptions);
  const page = await context.newPage();
  await page.goto(`${behind.gateway}/new`);
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByRole("heading")).toHaveText("/orders/1");
  await page.goBack();
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByRole("heading")).toHaveText("/orders/1");
  expect(await context.cookies()).toEqual([]);
  expect(behind.orders).toEqual(["a=1"]);
  await context.close();
  rmSync(profile, { recursive: true });
});
