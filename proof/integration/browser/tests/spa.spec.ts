import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join, resolve } from "node:path";
import { type Page, expect, test as base } from "@playwright/test";
import { type Serving, gateway, serve } from "./behind.ts";
import { listen } from "./demo.ts";

// Applications in spa/apps, each with another library, as people write them. Behind the gateway each wish of a person is one order.

const folder = resolve(import.meta.dirname, "../spa");
const names = readdirSync(join(folder, "apps")).map((file) => basename(file, ".ts")).filter((name) => name !== "here");
/** Those whose library repeats what failed. */
const repeating = new Set(["ky", "query"]);

/** The application's server, and the gateway in front of it. */
interface Site extends Serving {
  rows(cell: string): number;
}

interface Scene {
  /** Opens the application, whose server takes so many milliseconds. */
  open(name: string, wait?: number, page?: Page): Promise<void>;
  rows(): number;
  /** The answers to the next requests that create are lost. */
  lose(count: number): Promise<void>;
  /** How many requests that create have left the page. */
  sent(): number;
}

const test = base.extend<{ scene: Scene; complaints: string[] }, { site: Site }>({
  site: [async ({}, use) => {
    const site = await start();
    await use(site);
    await site.stop();
  }, { scope: "worker" }],
  complaints: async ({ context }, use) => {
    const complaints: string[] = [];
    listen(context, complaints);
    await use(complaints);
    expect(complaints, "the console is silent").toEqual([]);
  },
  scene: async ({ page, site }, use, { testId, retry }) => {
    const cell = `${testId}-${retry}`;
    let left = 0;
    page.on("request", (request) => void (request.method() === "POST" && creates(request.postData()) && left++));
    await use({
      open: async (name, wait = 0, other = page) => {
        await other.goto(`${site.url}/${name}?cell=${cell}&wait=${wait}`);
        await expect(create(other)).toBeVisible();
      },
      rows: () => site.rows(cell),
      sent: () => left,
      lose: async (count) => {
        await page.route(/\/(api\/orders|graphql)\?/, async (route) => {
          if (!creates(route.request().postData()) || count-- <= 0) return route.continue();
          await route.fetch();
          await route.abort("connectionreset");
        });
      },
    });
  },
});

const creates = (body: string | null): boolean => body === null || !/query Count/.test(body);
const create = (page: Page) => page.getByRole("button", { name: "Create" });
const said = (page: Page) => page.getByRole("listitem");

/** Serves the applications, takes their orders, and starts the gateway in front. */
async function start(): Promise<Site> {
  const cells = new Map<string, number>();
  const add = (cell: string) => {
    cells.set(cell, (cells.get(cell) ?? 0) + 1);
    return { id: `order-${cell}-${cells.get(cell)}` };
  };
  const { ApolloServer, HeaderMap } = createRequire(join(folder, "package.json"))("@apollo/server") as typeof import("../spa/node_modules/@apollo/server");
  const apollo = new ApolloServer<{ cell: string; done: () => Promise<void> }>({
    typeDefs: "type Order { id: String } type Query { orders: [Order] } type Mutation { createOrder(item: String!): Order }",
    resolvers: {
      Query: { orders: (_: unknown, _args: unknown, { cell }) => Array.from({ length: cells.get(cell) ?? 0 }, (_each, id) => ({ id })) },
      Mutation: {
        createOrder: async (_: unknown, _args: unknown, { cell, done }) => {
          const made = add(cell);
          await done();
          return made;
        },
      },
    },
  });
  await apollo.start();
  const application = await serve(async (request, response) => {
    const { pathname, search, searchParams } = new URL(request.url!, "http://any");
    const cell = searchParams.get("cell")!;
    const done = () => new Promise<void>((resolve) => setTimeout(resolve, Number(searchParams.get("wait"))));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (pathname === "/api/orders") {
      const made = add(cell);
      await done();
      response.writeHead(201, { "Content-Type": "application/json" }).end(JSON.stringify(made));
    } else if (pathname === "/graphql") {
      const headers = new HeaderMap(Object.entries(request.headers) as [string, string][]);
      const answer = await apollo.executeHTTPGraphQLRequest({
        httpGraphQLRequest: { method: "POST", headers, search, body: JSON.parse(String(Buffer.concat(chunks))) }, context: async () => ({ cell, done }),
      });
      response.writeHead(answer.status ?? 200, Object.fromEntries(answer.headers)).end(answer.body.kind === "complete" ? answer.body.string : "");
    } else if (pathname.endsWith(".js")) {
      response.writeHead(200, { "Content-Type": "text/javascript" }).end(readFileSync(join(process.env.SEMEL_TEST_SPA!, pathname)));
    } else {
      const name = pathname.slice(1);
      response.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": `script-src 'self'${name === "angular" ? " 'unsafe-eval'" : ""}` })
        .end(`<!doctype html><html lang="en"><head><title>${name}</title><link rel="icon" href="data:,"><script type="module" src="/${name}.js"></script></head><body></body></html>`);
    }
  });
  const rules = ["/api/orders", "/graphql"].map((path, at) => `  - {name: route${at}, match: {methods: [POST], path: ${path}}, page: true}\n`).join("");
  const front = await gateway(application.url, rules);
  return {
    url: front.url, rows: (cell) => cells.get(cell) ?? 0,
    stop: async () => {
      await front.stop();
      await application.stop();
      await apollo.stop();
    },
  };
}

/** Presses twice within one click sequence. */
async function doubleClick(page: Page, gap: number): Promise<void> {
  const { x, y } = (await create(page).boundingBox())!;
  await page.mouse.move(x + 5, y + 5);
  for (const count of [1, 2]) {
    if (count > 1) await page.waitForTimeout(gap); // the person's pace
    await page.mouse.down({ clickCount: count });
    await page.mouse.up({ clickCount: count });
  }
}

for (const name of names) {
  test.describe(name, { tag: ["@long", "@lean"] }, () => {
    for (const wait of [0, 60, 600]) {
      test(`double clicks after 0 to 400 ms, a server that takes ${wait} ms: one order each, shown twice`, async ({ page, scene, complaints }) => {
        await scene.open(name, wait);
        const shown: RegExp[] = [];
        for (const [before, gap] of [0, 40, 120, 250, 400].entries()) {
          const order = new RegExp(`order-.*-${before + 1}$`);
          shown.push(order, order);
          await doubleClick(page, gap);
          if (name !== "swr") await expect(said(page), `${gap} ms`).toHaveText(shown);
          else await expect(said(page).last(), `${gap} ms`).toHaveText(order); // SWR forgets the answer to the first of two
          await expect.poll(scene.sent, `${gap} ms`).toBe(shown.length);
          expect(scene.rows(), `${gap} ms`).toBe(before + 1);
        }
        expect(complaints).toEqual([]);
      });
    }

    test("two wishes with the same content: two orders", async ({ page, scene, complaints }) => {
      await scene.open(name);
      await create(page).click();
      await expect(said(page)).toHaveText([/-1$/]);
      await create(page).click();
      await expect(said(page)).toHaveText([/-1$/, /-2$/]);
      expect(scene.rows()).toBe(2);
      expect(complaints).toEqual([]);
    });

    test("the answer is lost: pressing again, or the library's own repetition, shows the order", async ({ page, scene }) => {
      await scene.open(name);
      await scene.lose(1);
      await create(page).click();
      if (!repeating.has(name)) {
        await expect(said(page)).toHaveText(["failed"]);
        await create(page).click();
      }
      await expect(said(page).last()).toHaveText(/-1$/);
      expect(scene.rows()).toBe(1);
    });

    test("the answer is lost and the page loaded anew: the same again is the same order", async ({ page, scene }) => {
      await scene.open(name);
      await scene.lose(4);
      await create(page).click();
      await expect(said(page)).toHaveText(["failed"]);
      await page.unrouteAll({ behavior: "wait" });
      await page.reload();
      await create(page).click();
      await expect(said(page)).toHaveText([/-1$/]);
      expect(scene.rows()).toBe(1);
    });

    test("the page is loaded anew while the order is under way: the same again is the same order", async ({ page, scene }) => {
      await scene.open(name, 600);
      await create(page).click();
      await expect.poll(scene.rows).toBe(1);
      await page.reload();
      await create(page).click();
      await expect(said(page)).toHaveText([/-1$/]);
      expect(scene.rows()).toBe(1);
    });

    test("without a network, and back: one order", async ({ page, context, scene }) => {
      await scene.open(name);
      await context.setOffline(true);
      await create(page).click();
      await expect(said(page)).toHaveText(["failed"]);
      await context.setOffline(false);
      await create(page).click();
      await expect(said(page).last()).toHaveText(/-1$/);
      expect(scene.rows()).toBe(1);
    });

    test("stopped, and sent again: one order", async ({ page, scene }) => {
      await scene.open(name, 600);
      await create(page).click();
      await expect.poll(scene.rows).toBe(1);
      await page.getByRole("button", { name: "Stop" }).click();
      await expect(said(page)).toHaveText(["failed"]);
      await create(page).click();
      await expect(said(page).last()).toHaveText(/-1$/);
      expect(scene.rows()).toBe(1);
    });

    test("in two tabs: two wishes, two orders", async ({ page, context, scene, complaints }) => {
      const other = await context.newPage();
      await scene.open(name, 60);
      await scene.open(name, 60, other);
      await create(page).click();
      await create(other).click();
      await expect(said(page)).toHaveText([/order/]);
      await expect(said(other)).toHaveText([/order/]);
      expect(scene.rows()).toBe(2);
      expect(complaints).toEqual([]);
    });
  });
}

test("GraphQL: a query after a mutation sees the new state", { tag: ["@long", "@lean"] }, async ({ page, scene, complaints }) => {
  await scene.open("apollo");
  const list = page.getByRole("button", { name: "List" });
  await list.click();
  await expect(said(page)).toHaveText(["0 orders"]);
  await create(page).click();
  await expect(said(page)).toHaveText(["0 orders", /-1$/]);
  await list.click();
  await expect(said(page)).toHaveText(["0 orders", /-1$/, "1 orders"]);
  expect(complaints).toEqual([]);
});
