import type { BrowserContext, CDPSession, Page } from "@playwright/test";
import { expect, type Fault, offline, open, order, rows, type Shop, status, test } from "./queue-shop";

/** A page of no site, from which the worker is woken and stopped as the browser does. */
class Keeper {
  private constructor(private readonly shop: Shop, private readonly session: CDPSession, private registration = "") {}

  static async of(context: BrowserContext, shop: Shop, page: Page): Promise<Keeper> {
    const look = await context.newCDPSession(page);
    let registration = "";
    look.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
      registration = registrations.find(({ scopeURL }) => scopeURL === `${shop.home}/`)?.registrationId ?? registration;
    });
    await look.send("ServiceWorker.enable");
    await expect.poll(() => registration).not.toBe("");
    const session = await context.newCDPSession(await context.newPage());
    await session.send("ServiceWorker.enable");
    return new Keeper(shop, session, registration);
  }

  async sync(lastChance = false): Promise<void> {
    await this.session.send("ServiceWorker.dispatchSyncEvent", {
      origin: this.shop.home, registrationId: this.registration, tag: "semel-queue", lastChance,
    });
  }

  /** Wakes the worker until done: a browser repeats a sync that failed, the debugging protocol does not. */
  async syncUntil(done: () => Promise<void>): Promise<void> {
    await expect(async () => {
      await this.sync();
      await done();
    }).toPass({ intervals: [200, 500, 1000], timeout: 30_000 });
  }

  /** Wakes the worker until a request of its own has reached the shop. */
  async begin(): Promise<void> {
    await this.syncUntil(async () => expect(await this.shop.requests()).toBeGreaterThan(0)); // the next one may have followed
  }

  async stop(): Promise<void> {
    await this.session.send("ServiceWorker.stopAllWorkers");
  }
}

/** Leaves an order and its line waiting, no page open, and then the network there: the browser may wake the worker at once. */
async function left(page: Page, context: BrowserContext, shop: Shop, fault?: Fault): Promise<Keeper> {
  await open(page, shop, { worker: true });
  await offline(context, true);
  await order(page, "Ada", "tea");
  const keeper = await Keeper.of(context, shop, page);
  await page.close();
  expect(await shop.orders()).toEqual([]);
  if (fault) await shop.fault(fault);
  await offline(context, false);
  return keeper;
}

test("the worker sends when all tabs are closed", async ({ page, context, shop }) => {
  const keeper = await left(page, context, shop);
  await keeper.syncUntil(() => rows(shop, ["Ada"], ["tea"], 2000));
});

test("the worker is stopped while its request is under way: once, when it is woken again", async ({ page, context, shop }) => {
  const keeper = await left(page, context, shop, { mode: "delay", ms: 2000, count: 1 });
  await keeper.begin();
  await keeper.stop();
  await keeper.syncUntil(() => rows(shop, ["Ada"], ["tea"], 2000));
  const next = await context.newPage();
  await open(next, shop);
  await expect(status(next)).toHaveText("Everything has been sent.");
  expect((await shop.orders()).length).toBe(1);
});

test("the worker is stopped while its request is under way: a page that opens sends it, once", async ({ page, context, shop }) => {
  const keeper = await left(page, context, shop, { mode: "delay", ms: 2000, count: 1 });
  await keeper.begin();
  await keeper.stop();
  const next = await context.newPage();
  await open(next, shop);
  await rows(shop, ["Ada"], ["tea"]);
  await expect(status(next)).toHaveText("Everything has been sent.");
});

test("the worker is woken while two pages have the queue open: one sends", async ({ page, context, shop }) => {
  await open(page, shop, { worker: true });
  const other = await context.newPage();
  await open(other, shop, { worker: true });
  const keeper = await Keeper.of(context, shop, page);
  await offline(context, true);
  for (const customer of ["Ada", "Grace", "Edsger"]) await order(page, customer);
  await shop.fault({ mode: "delay", ms: 300, count: 3 });
  await offline(context, false);
  for (let n = 0; n < 5; n++) await keeper.sync();
  await page.close(); // in the middle of it, perhaps
  await rows(shop, ["Ada", "Grace", "Edsger"]);
  await expect(status(other)).toHaveText("Everything has been sent.");
  expect(await shop.requests()).toBeLessThanOrEqual(4); // the page's last one may have been cut off
});

test("the right to send is stolen: the thief's end gives it back", async ({ page, context, shop }) => {
  await open(page, shop);
  const other = await context.newPage();
  await open(other, shop);
  await shop.hold();
  await order(page, "Ada", "tea");
  await expect.poll(() => shop.requests()).toBe(1);
  await other.evaluate(() => navigator.locks.request("semel-queue", { steal: true }, () => undefined));
  await shop.release();
  await rows(shop, ["Ada"], ["tea"]);
  for (const one of [page, other]) await expect(status(one)).toHaveText("Everything has been sent.");
});

test("another version of the worker comes while it sends: once", async ({ page, context, shop }) => {
  const keeper = await left(page, context, shop, { mode: "delay", ms: 2000, count: 1 });
  await keeper.begin();
  const next = await context.newPage();
  await next.goto(`${shop.home}/icon.svg`);
  await next.evaluate(async () => {
    const registration = await navigator.serviceWorker.register("/worker.js?2");
    const worker = registration.installing ?? registration.waiting ?? registration.active!;
    if (worker.state !== "activated") await new Promise((resolve) => worker.addEventListener("statechange", () => worker.state === "activated" && resolve(0)));
  });
  await keeper.syncUntil(() => rows(shop, ["Ada"], ["tea"], 2000));
  await open(next, shop);
  await expect(status(next)).toHaveText("Everything has been sent.");
});

test("the site's data is cleared while orders wait: the page does not say that they were sent", async ({ page, context, shop }) => {
  await open(page, shop);
  await order(page, "Ada");
  await expect(status(page)).toHaveText("Everything has been sent.");
  await offline(context, true);
  await order(page, "Grace");
  await expect(status(page)).toContainText("1 waiting");
  const session = await context.newCDPSession(page);
  await session.send("Storage.clearDataForOrigin", { origin: shop.home, storageTypes: "indexeddb" });
  await offline(context, false);
  await expect(status(page)).toHaveText("Nothing is waiting to be sent.");
  expect((await shop.orders()).map(({ customer }) => customer)).toEqual(["Ada"]);
  await order(page, "Edsger");
  await rows(shop, ["Ada", "Edsger"]);
});

test("a newer version of the page changes the database in the middle: nothing more is sent, nothing is lost", async ({ page, context, shop }) => {
  await open(page, shop);
  await shop.hold();
  await order(page, "Ada", "tea");
  await expect.poll(() => shop.requests()).toBe(1);
  const other = await context.newPage();
  await other.goto(`${shop.home}/icon.svg`);
  const kept = await other.evaluate(() => new Promise((resolve, reject) => {
    const request = indexedDB.open("semel-queue", 2);
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const all = request.result.transaction("entries").objectStore("entries").getAll();
      all.onsuccess = () => resolve(all.result.map(({ label, state }) => [label, state]));
    };
  }));
  expect(kept).toEqual([["Order for Ada", "sending"], ["tea for Ada", "waiting"]]);
  await shop.release();
  await expect(status(page)).toHaveText("There is a newer version of this page. Reload it.");
  await rows(shop, ["Ada"]);
});

test("a page that opens while something waits asks for the worker again: the browser gives up after a few failures", async ({ page, context, shop }) => {
  await page.addInitScript(() => {
    const scope = globalThis as unknown as { SyncManager: { prototype: { register(tag: string): Promise<void> } }; asked: string[] };
    const { register } = scope.SyncManager.prototype;
    scope.asked = [];
    scope.SyncManager.prototype.register = function (tag) {
      scope.asked.push(tag);
      return register.call(this, tag);
    };
  });
  const asked = () => page.evaluate(() => (globalThis as unknown as { asked: string[] }).asked);
  await open(page, shop, { worker: true });
  expect(await asked(), "nothing waits").toEqual([]);
  await offline(context, true);
  await order(page, "Ada");
  await page.reload();
  await expect(status(page)).toContainText("1 waiting to be sent.");
  await expect.poll(asked).toContain("semel-queue");
  await offline(context, false);
  await rows(shop, ["Ada"]);
});
