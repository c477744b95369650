import { randomUUID } from "node:crypto";
import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { expect, logIn, tabTo, test, token } from "./console.ts";

for (const scripts of [true, false]) {
  test(`an unknown outcome is settled with the keyboard ${scripts ? "" : "and without scripts"}`, async ({ browser, desk }) => {
    const key = randomUUID();
    expect((await desk.send(key))[0]).toBeGreaterThanOrEqual(500);
    const context = await browser.newContext({ javaScriptEnabled: scripts });
    const page = await context.newPage();
    await logIn(page, desk);
    await tabTo(page, /^Settle the oldest$/, "link");
    await page.keyboard.press("Enter");
    await expect(page.locator("dl.facts").first()).toContainText(key);
    await expect(page.getByLabel("Status")).toBeHidden(); // it belongs to a choice that was not made yet
    await tabTo(page, /^It happened/, "radio");
    await page.keyboard.press("Space");
    await tabTo(page, /^Reason/, "textbox");
    await page.keyboard.type("order 77 is in the ledger");
    await tabTo(page, /^Settle it as alice$/, "button");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("alert")).toContainText("needs the status that attempts get"); // and the reason is still there
    await expect(page.getByLabel("Reason: how you know")).toHaveValue("order 77 is in the ledger");
    await tabTo(page, /^Status$/, "textbox");
    await page.keyboard.type("201");
    await tabTo(page, /^Body$/, "textbox");
    await page.keyboard.type('{"id":77}');
    await tabTo(page, /^Settle it as alice$/, "button");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("status")).toHaveText(/^The verdict was taken\. Record [0-9a-f]{12} happened: attempts get what you gave\.$/);
    expect(await desk.send(key)).toEqual([201, '{"id":77}']);
    await page.getByRole("link", { name: "Audit", exact: true }).click();
    await expect(page.getByRole("table")).toContainText("order 77 is in the ledger");
    await context.close();
  });
}

test("of two operators, the second one is told that it is settled", async ({ browser, desk }) => {
  const key = randomUUID();
  await desk.send(key);
  const pages = [];
  for (let i = 0; i < 2; i++) {
    const page = await (await browser.newContext()).newPage();
    await logIn(page, desk);
    await page.goto(`${desk.console}unknown`);
    await page.getByRole("link", { name: key }).click();
    await page.getByLabel("It did not happen and must not").check();
    await page.getByLabel("Reason: how you know").fill(`operator ${i}`);
    pages.push(page);
  }
  for (const page of pages) await page.getByRole("button", { name: "Settle it as alice" }).click();
  await expect(pages[0]!.getByRole("status")).toContainText("The verdict was taken.");
  await expect(pages[1]!.getByRole("alert")).toContainText("Nothing was done");
  for (const page of pages) await page.context().close();
});

test("a verdict on an attempt that was seen does not settle a newer one", async ({ browser, desk }) => {
  const key = randomUUID();
  await desk.send(key);
  const page = await (await browser.newContext()).newPage();
  await logIn(page, desk);
  await page.goto(`${desk.console}unknown`);
  await page.getByRole("link", { name: key }).click();
  const fence = async (of: Page) => Number(/fence (\d+)/.exec(await of.locator("dl.facts").first().innerText())![1]);
  const seen = await fence(page);
  await page.getByLabel("It did not happen and must not").check();
  await page.getByLabel("Reason: how you know").fill("the bank has no line");

  const other = await page.context().newPage(); // lets the next attempt execute, which ends without an answer as well
  await other.goto(page.url());
  await other.getByLabel("It did not happen: the next").check();
  await other.getByLabel("Reason: how you know").fill("the bank was down");
  await other.getByRole("button", { name: "Settle it as alice" }).click();
  await expect(other.getByRole("heading", { level: 1 })).toHaveText("Unknown outcomes");
  expect((await desk.send(key))[0]).toBeGreaterThanOrEqual(500);

  const settle = page.getByRole("button", { name: "Settle it as alice" });
  await settle.click();
  await expect(page.getByRole("alert")).toHaveText("Nothing was done: the record changed while you looked at it. It is shown as it is now; decide anew.");
  expect(await fence(page)).toBeGreaterThan(seen);
  await expect(page.getByLabel("Reason: how you know")).toHaveValue("the bank has no line");
  await settle.click(); // on the newer one, which was seen now
  await expect(page.getByRole("status")).toContainText("The verdict was taken.");
  await page.context().close();
});

for (const scripts of [true, false]) {
  test(`the request that made invoice 77 is found with the keyboard ${scripts ? "" : "and without scripts"}`, { tag: scripts ? "@long" : [] }, async ({ browser, desk }) => {
    const key = randomUUID();
    expect((await desk.send(key, "/invoices"))[0]).toBe(201);
    await desk.send(randomUUID());
    const context = await browser.newContext({ javaScriptEnabled: scripts });
    const page = await context.newPage();
    await logIn(page, desk);
    await tabTo(page, /^Log$/, "link");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Outcome log");
    await tabTo(page, /^Made/, "textbox");
    await page.keyboard.type("77");
    await page.keyboard.press("Enter");
    await page.waitForURL(/made=77/);
    await expect(async () => { // the log is written behind the answer
      await page.reload();
      await expect(page.getByRole("row")).toHaveCount(2, { timeout: 100 }); // with the head
    }).toPass();
    await expect(page.getByRole("row").nth(1)).toContainText("/invoices/77");
    await tabTo(page, /^[0-9a-f]{12}…$/, "link");
    await page.keyboard.press("Enter");
    await expect(page.locator("dl.facts").first()).toContainText(key);
    await tabTo(page, /^Its requests in the outcome log$/, "link");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("row")).toHaveCount(2);
    await page.goto(`${desk.console}settings`);
    await expect(page.getByRole("cell", { name: "kept for 720h", exact: true })).toBeVisible();
    await context.close();
  });
}

test("after the log-out, Back shows no page of the session", async ({ browser, desk }) => {
  const key = randomUUID();
  await desk.send(key);
  const page = await (await browser.newContext()).newPage();
  await logIn(page, desk);
  await page.goto(`${desk.console}unknown`);
  await expect(page.getByRole("main")).toContainText(key);
  await page.getByRole("button", { name: "Log out" }).click();
  await expect(page.getByLabel("Token")).toBeVisible();
  await page.goBack();
  await expect(page.getByLabel("Token")).toBeVisible();
  await expect(page.getByRole("main")).not.toContainText(key);
  await page.context().close();
});

test("a double charge is found by its key", async ({ browser, desk }) => {
  const key = randomUUID();
  for (let i = 0; i < 3; i++) await desk.send(randomUUID());
  for (let i = 0; i < 2; i++) await desk.send(key); // the customer says: I was charged twice
  const page = await (await browser.newContext()).newPage();
  await logIn(page, desk);
  await page.getByRole("link", { name: "Records", exact: true }).click();
  await page.getByLabel("Key", { exact: true }).fill(key);
  await page.getByRole("button", { name: "Find" }).click();
  await expect(page.getByRole("row")).toHaveCount(2); // with the head
  await page.getByRole("link", { name: key }).click();
  await expect(page.getByRole("list").filter({ hasText: "It ended without an answer" })).toContainText("Attempt 1, with fence"); // one attempt, not two
  await page.context().close();
});

test("a session that ends in the middle of a verdict loses nothing", async ({ browser, desk }) => {
  const key = randomUUID();
  await desk.send(key);
  const page = await (await browser.newContext()).newPage();
  await logIn(page, desk);
  await page.goto(`${desk.console}unknown`);
  await page.getByRole("link", { name: key }).click();
  await page.getByLabel("It did not happen: the next").check();
  await page.getByLabel("Reason: how you know").fill("the bank has no line");
  const other = await page.context().newPage();
  await other.goto(desk.console);
  await other.getByRole("button", { name: "Log out" }).click();
  await page.getByRole("button", { name: "Settle it as alice" }).click();
  await expect(page.getByRole("alert")).toContainText("Your session has ended. Nothing was done");
  await page.getByLabel("Token").fill(token);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("alert")).toContainText("It has not been done yet");
  await expect(page.getByLabel("Reason: how you know")).toHaveValue("the bank has no line");
  await page.getByRole("button", { name: "Settle it as alice" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Unknown outcomes");
  await expect(page.getByRole("link", { name: key })).toHaveCount(0);
  await page.context().close();
});

for (const [width, colorScheme] of [[1200, "light"], [320, "dark"], [1200, "dark"], [320, "light"]] as const) {
  test(`every page at ${width} px in ${colorScheme} is accessible and fits`, { tag: (width === 320) === (colorScheme === "dark") ? [] : "@long" }, async ({ browser, desk }, info) => {
    const key = randomUUID();
    await desk.send(key);
    await desk.send(randomUUID(), "/invoices");
    const page = await (await browser.newContext({ viewport: { width, height: 800 }, colorScheme })).newPage();
    await page.goto(desk.console);
    await look(page, "log in");
    await logIn(page, desk);
    for (const path of ["", "unknown", "records", "records?scope=x&name=y", "find?q=6C5B-3130", "flows", "quarantine", "outbox", "duplicates", "audit", "rules", "settings", "log", "log?made=nothing", "log?scope=x", "nothing"]) {
      await expect(async () => {
        await page.goto(desk.console + path);
        if (path === "log") await expect(page.getByRole("row")).toHaveCount(3, { timeout: 100 }); // it is written behind the answer
      }).toPass();
      await look(page, path || "overview");
    }
    await page.goto(`${desk.console}unknown`);
    await page.getByRole("link", { name: key }).click();
    await look(page, "record");
    await page.getByLabel("It did not happen and must not").check();
    await page.getByLabel("Reason: how you know").fill("it is not in the ledger");
    await page.getByRole("button", { name: "Settle it as alice" }).click();
    await expect(page.getByRole("list").filter({ hasText: "took it over to settle it" })).toContainText("“it is not in the ledger”");
    await look(page, "settled record");

    async function look(of: Page, name: string): Promise<void> {
      const { violations } = await new AxeBuilder({ page: of }).setLegacyMode().analyze(); // these pages have no frames
      expect.soft(violations.map(({ id, nodes }) => [name, id, nodes.map((node) => node.html)])).toEqual([]);
      expect.soft(await of.evaluate(() => document.documentElement.scrollWidth - innerWidth), name).toBeLessThanOrEqual(0);
      if (process.env.SEMEL_LONG) await info.attach(name, { body: await of.screenshot({ fullPage: true }), contentType: "image/png" });
    }
    await page.context().close();
  });
}

test("28 records fit on a phone, and the parts of the console into two rows", async ({ browser, desk }) => {
  for (let i = 0; i < 28; i++) await desk.send(randomUUID(), "/invoices");
  const page = await (await browser.newContext({ viewport: { width: 360, height: 740 } })).newPage();
  await logIn(page, desk);
  await page.goto(`${desk.console}records`);
  await expect(page.getByRole("row")).toHaveCount(29);
  expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBeLessThanOrEqual(2500);
  expect(await page.locator("header").evaluate((header) => (header as HTMLElement).offsetHeight)).toBeLessThanOrEqual(100);
  expect((await page.locator("tbody th a").first().boundingBox())!.width).toBeGreaterThan(120); // the key is read
  await page.context().close();
});

for (const scripts of [true, false]) {
  test(`a reference leads to its record${scripts ? "" : " without scripts"}, and many are settled together`, async ({ browser, desk }) => {
    const keys = [randomUUID(), randomUUID(), randomUUID()];
    for (const key of keys) await desk.send(key);
    const context = await browser.newContext({ javaScriptEnabled: scripts });
    const page = await context.newPage();
    await logIn(page, desk);
    await page.goto(`${desk.console}unknown`);
    await page.getByRole("link", { name: keys[1]! }).click();
    const reference = /Reference\s+([0-9A-F]{4}-[0-9A-F]{4})/.exec(await page.locator("dl.facts").first().innerText())![1]!;
    await page.goto(desk.console);
    await page.getByRole("textbox", { name: /^Find/ }).fill(reference);
    await page.keyboard.press("Enter");
    await expect(page.locator("dl.facts").first()).toContainText(keys[1]!);

    await page.goto(`${desk.console}unknown`);
    for (const key of keys.slice(0, 2)) await page.getByLabel(`Choose ${key}`).check();
    await page.getByText("Settle the chosen ones together").click();
    await page.getByLabel("None of them happened, and none must").check();
    await page.getByLabel("Reason: how you know").fill("the ledger has none");
    await page.getByRole("button", { name: "Settle the chosen ones as alice" }).click();
    await expect(page.locator("p.done")).toHaveText("2 of 2 records settled as cancelled.");
    await expect(page.getByRole("row")).toHaveCount(2);
    await page.getByRole("link", { name: "Next unknown" }).click();
    await expect(page.locator("dl.facts").first()).toContainText(keys[2]!);
    await context.close();
  });
}

test("the pages follow the process, and rows do not move", async ({ browser, desk }) => {
  await desk.send(randomUUID());
  const context = await browser.newContext({ locale: "de-DE", timezoneId: "Europe/Berlin" });
  const page = await context.newPage();
  await logIn(page, desk);
  await expect(page.locator("section.answer time")).toHaveText(/^\d+ (second|minute)s?$/);
  await expect(page.locator("section.answer time")).toHaveAttribute("title", /^\d{1,2}\. \p{L}+\.? \d{4}, \d\d:\d\d:\d\d ME.*UTC$/u);
  await page.getByText("All counts of this process").click();
  const unknown = page.locator("[data-live=unknown]");
  await expect(unknown).toHaveText("1");
  await desk.send(randomUUID());
  await expect(unknown).toHaveText("2");
  await expect(page.getByRole("status")).toHaveText("1 new unknown outcomes – show");

  await page.goto(`${desk.console}records`);
  await page.clock.install();
  await page.reload();
  const rows = page.getByRole("row");
  await expect(rows).toHaveCount(3);
  await desk.send(randomUUID());
  await expect(page.getByRole("link", { name: "1 new – show" })).toBeVisible();
  await page.clock.runFor(0);
  await expect(page.getByRole("status")).toHaveText("1 new – show");
  await desk.send(randomUUID());
  await expect(page.getByRole("link", { name: "2 new – show" })).toBeVisible();
  await expect(rows).toHaveCount(3);
  await page.clock.pauseAt(Date.now() + 60_000);
  await expect(page.getByRole("status")).toHaveText("2 new – show");
  await tabTo(page, /^2 new – show$/, "link");
  await page.keyboard.press("Enter");
  await expect(rows).toHaveCount(5);
  await context.close();
});

test("the numbers of a chart are read without scripts", async ({ browser, desk }) => {
  await desk.send(randomUUID());
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await logIn(page, desk);
  const chart = page.getByRole("figure").filter({ hasText: "Requests per minute" });
  await expect(async () => { // the first second of a process has no chart yet
    await page.reload();
    await expect(chart.getByRole("img", { name: "Requests per minute" })).toBeVisible({ timeout: 100 });
  }).toPass();
  await expect(page.locator("section.answer time")).toHaveAttribute("title", /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
  await chart.locator("summary").focus();
  await page.keyboard.press("Enter");
  await expect(chart.getByRole("table", { name: "Requests per minute" }).getByRole("row").nth(1)).toContainText(/\d/);
  await expect(page.locator("[data-new]")).toBeHidden();
  await context.close();
});
