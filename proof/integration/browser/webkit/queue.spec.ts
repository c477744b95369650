import { mergeTests } from "@playwright/test";
import { rows, test as shops } from "../tests/queue-shop.ts";
import { By, expect, test as browsers, text } from "./webkit.ts";
import type { WebDriver } from "selenium-webdriver";

const test = mergeTests(browsers, shops);

async function order(person: WebDriver, customer: string, item: string): Promise<void> {
  for (const [name, value] of [["customer", customer], ["item", item]] as const) {
    const field = await person.findElement(By.css(`[name=${name}]`));
    await field.clear();
    await field.sendKeys(value);
  }
  await person.findElement(By.css("form button")).click();
  await expect.poll(() => text(person, "#kept")).toBe(`Kept: the order for ${customer}.`);
}

/** How many entries wait on the device; -1 before the page's script has run. */
function waiting(person: WebDriver): Promise<number> {
  return person.executeAsyncScript<number>("const done = arguments[0]; typeof queue === 'undefined' ? done(-1) : queue.list().then((all) => done(all.filter((one) => one.state !== 'done').length))");
}

test("the server is down, the page is loaded anew, the server comes back: once and in order", async ({ person, shop }) => {
  await person.get(`${shop.home}/offline.html`);
  await person.executeAsyncScript("const done = arguments[0]; navigator.serviceWorker.ready.then(() => done())");
  await shop.stop();
  await order(person, "Ada", "tea");
  await order(person, "Grace", "coffee");
  await expect.poll(() => waiting(person)).toBe(4);
  await person.navigate().refresh(); // the worker has the page
  await expect.poll(() => waiting(person)).toBe(4);
  await shop.start();
  await rows(shop, ["Ada", "Grace"], ["tea", "coffee"]);
  await expect.poll(() => waiting(person)).toBe(0);
});

test("answers get lost: one order each", async ({ person, shop }) => {
  await person.get(`${shop.home}/offline.html`);
  await shop.fault({ mode: "lose-answer", count: 3 });
  await order(person, "Ada", "tea");
  await rows(shop, ["Ada"], ["tea"]);
  await expect.poll(() => waiting(person), { timeout: 40_000 }).toBe(0);
  expect(await shop.requests()).toBeGreaterThan(2);
  await rows(shop, ["Ada"], ["tea"]);
});
