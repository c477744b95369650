import { expect, offline, open, order, rows, status, test } from "./queue-shop";

/** Makes a page as it is on plain http: there are neither Web Locks nor service workers. */
function plainHTTP(): void {
  for (const name of ["locks", "serviceWorker"]) Object.defineProperty(Navigator.prototype, name, { value: undefined });
}

test("offline, filled in, reloaded, online: once and in order", async ({ page, context, shop }) => {
  await open(page, shop, { worker: true });
  await offline(context, true);
  await order(page, "Ada", "tea");
  await order(page, "Grace", "coffee");
  await expect(status(page)).toHaveText("4 waiting to be sent. You are offline. It is kept on this device and sent when you are back online.");
  await page.reload(); // the worker has the page
  await expect(status(page)).toContainText("4 waiting to be sent.");
  expect(await shop.orders()).toEqual([]);
  await page.screenshot({ path: test.info().outputPath("offline.png"), fullPage: true });
  await offline(context, false);
  await rows(shop, ["Ada", "Grace"], ["tea", "coffee"]);
  await expect(status(page)).toHaveText("Everything has been sent.");
  const [ada, grace] = await shop.orders();
  expect((await shop.lines()).map((line) => line.order)).toEqual([ada!.id, grace!.id]);
});

test("answers get lost: one order each", async ({ page, shop }) => {
  await open(page, shop);
  await shop.fault({ mode: "lose-answer", count: 3 });
  await order(page, "Ada");
  await order(page, "Grace");
  await expect(status(page)).toHaveText("Everything has been sent.", { timeout: 40_000 });
  expect(await shop.requests()).toBeGreaterThan(2);
  await rows(shop, ["Ada", "Grace"]);
});

for (const mode of ["drop-before", "close-after-read", "status-503"] as const) {
  test(`the server's trouble passes: ${mode}`, { tag: mode === "drop-before" ? [] : "@long" }, async ({ page, shop }) => {
    await open(page, shop);
    await shop.fault({ mode, count: 2 });
    await order(page, "Ada");
    await expect(status(page)).toHaveText("Everything has been sent.", { timeout: 40_000 });
    await rows(shop, ["Ada"]);
  });
}

test("the server is down and comes back", async ({ page, shop }) => {
  await open(page, shop);
  await shop.stop();
  await order(page, "Ada", "tea");
  await expect.poll(() => page.evaluate(async () => (await globalThis.queue.list())[0]?.reason?.word)).toBe("no-answer");
  await expect(status(page)).toHaveText("2 waiting to be sent.");
  await shop.start();
  await rows(shop, ["Ada"], ["tea"]);
  await expect(status(page)).toHaveText("Everything has been sent.");
});

test("the tab crashes while it sends: the next one sends under the same key", async ({ page, context, shop }) => {
  await open(page, shop);
  await shop.hold();
  await order(page, "Ada", "tea");
  await expect.poll(() => shop.requests()).toBe(1); // the request is at work there
  const crashed = page.waitForEvent("crash");
  const session = await context.newCDPSession(page);
  session.send("Page.crash").catch(() => undefined); // the page cannot answer any more
  await crashed;
  const next = await context.newPage();
  await open(next, shop);
  await rows(shop, ["Ada"], ["tea"]);
  await expect(status(next)).toHaveText("Everything has been sent.");
  expect(await shop.requests()).toBeGreaterThan(2); // the first once more, and the line
});

for (const locks of [true, false]) {
  test(`two tabs ${locks ? "with" : "without"} Web Locks send one at a time`, { tag: locks ? [] : "@long" }, async ({ page, context, shop }) => {
    if (!locks) await context.addInitScript(plainHTTP);
    let inside = 0;
    let most = 0;
    await context.route("**/api/orders", async (route) => {
      most = Math.max(most, ++inside);
      const answer = await route.fetch();
      inside--;
      await route.fulfill({ response: answer });
    });
    const other = await context.newPage();
    for (const one of [page, other]) await open(one, shop);
    expect(await page.evaluate(() => navigator.locks === undefined)).toBe(!locks);
    await Promise.all([page, other].map((one, tab) => one.evaluate(async (name) => {
      for (let n = 0; n < 10; n++) await globalThis.queue.add("/api/orders", { body: { customer: `${name}${n}` } });
    }, `tab ${tab} order `)));
    const kept = await page.evaluate(async () => (await globalThis.queue.list()).map(({ key }) => key));
    expect(new Set(kept).size).toBe(20);
    await expect(status(page)).toHaveText("Everything has been sent.");
    await expect(status(other)).toHaveText("Everything has been sent."); // news reached it
    const customers = (await shop.orders()).map(({ customer }) => customer);
    expect(customers).toHaveLength(20);
    expect(new Set(customers).size).toBe(20);
    for (const tab of [0, 1]) {
      const own = customers.filter((name) => name.startsWith(`tab ${tab}`));
      expect(own).toEqual(Array.from({ length: 10 }, (_, n) => `tab ${tab} order ${n}`));
    }
    expect(most).toBe(1);
    expect(await shop.requests()).toBe(20);
  });
}

test("without Web Locks: when the tab that sends goes elsewhere, another one goes on", async ({ page, context, shop }) => {
  await context.addInitScript(plainHTTP);
  await open(page, shop);
  const other = await context.newPage();
  await open(other, shop);
  await shop.hold();
  await order(page, "Ada", "tea");
  await expect.poll(() => shop.requests()).toBe(1);
  await page.goto("about:blank"); // it gives the right to send back, or the right lapses after 90 s, if it was not given that long
  await rows(shop, ["Ada"], ["tea"], 150_000);
  await expect(status(other)).toHaveText("Everything has been sent.");
});

test("signed out: it waits and says so; signed in again: it is sent once", async ({ page, shop }) => {
  await page.goto(shop.home);
  await page.getByLabel("Account").fill("ada");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await open(page, shop);
  await order(page, "Ada", "tea");
  await expect(status(page)).toHaveText("2 waiting to be sent. Sign in to send what is waiting.");
  await page.getByRole("link", { name: "Back to the shop" }).click();
  await page.getByLabel("Account").fill("ada");
  await page.getByRole("button", { name: "Sign in" }).click();
  await open(page, shop);
  await rows(shop, ["Ada"], ["tea"]);
  await expect(status(page)).toHaveText("Everything has been sent.");
});

test("a line names its order by the id that the client made, before the order arrived", async ({ page, context, shop }) => {
  await open(page, shop, { worker: true });
  await offline(context, true);
  const id = await page.evaluate(async () => {
    const id = crypto.randomUUID();
    await globalThis.queue.add("/api/orders", { body: { id, customer: "Ada" } });
    await globalThis.queue.add(`/api/orders/${id}/lines`, { body: { item: "tea" } });
    return id;
  });
  await shop.fault({ mode: "lose-answer", count: 1 });
  await offline(context, false);
  await rows(shop, ["Ada"], ["tea"]);
  expect((await shop.lines())[0]!.order).toBe(id);
});

test("a form with its key in a field is sent once", async ({ page, shop }) => {
  await open(page, shop);
  await shop.fault({ mode: "lose-answer", count: 1 });
  await page.evaluate(() => globalThis.queue.add("/orders", {
    body: new URLSearchParams({ customer: "Ada" }), keyField: "semel_key",
  }));
  await rows(shop, ["Ada"]);
  await expect(status(page)).toHaveText("Everything has been sent.");
  await rows(shop, ["Ada"]);
});
