import { invoices } from "../tests/demo.ts";
import { expect, test } from "./firefox.ts";
import type { Page } from "puppeteer-core";

/** Sends the form that the focus is in, by Enter, and waits for the page that comes. */
async function enter(page: Page, text: string): Promise<void> {
  await page.keyboard.press("Enter");
  await expect.poll(() => page.$eval("main", (main) => main.textContent).catch(() => ""), text).toContain(text);
}

/** Moves the focus forwards until the element has it. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let i = 0; i < 80; i++) {
    if (await page.evaluate((selector) => document.activeElement?.matches(selector) ?? false, selector)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not reach ${selector}`);
}

test("the story of the demo: an answer is lost, and settled in the console with the keyboard", async ({ person, demo }) => {
  const send = () =>
    fetch(`${demo.protected}/api/invoices`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "Idempotency-Key": "lost" },
      body: JSON.stringify({ customer_id: 1, amount_cents: 4200, currency: "EUR" }),
    });
  await demo.network("protected", "lose-inside");
  expect((await send()).status).toBe(502);
  await demo.network("protected", "normal");
  expect((await send()).status).toBe(409);

  const page = await person.newPage();
  await page.goto(demo.page);
  const token = await page.$eval("code.token", (code) => code.textContent!);
  await page.goto(demo.console);
  await page.keyboard.type(token);
  await enter(page, "1 request needs you");
  await expect.poll(() => page.$eval("[data-live=unknown]", (data) => data.textContent)).toBe("2"); // by the event stream
  await tabTo(page, "a.more[href='/console/unknown']");
  await enter(page, "Each of these may have happened or not");
  await tabTo(page, "tbody a");
  await enter(page, "Attempt 1, with fence");
  await tabTo(page, "[name=as]");
  await page.keyboard.press(" ");
  for (const [field, text] of [["reason", "it is in the list"], ["status", "201"], ["body", '{"id":1}']] as const) {
    await tabTo(page, `[name=${field}]`);
    await page.keyboard.type(text);
  }
  await tabTo(page, "form.verdict button");
  await enter(page, "The verdict was taken.");
  const again = await send();
  expect([again.status, await again.text()]).toEqual([201, '{"id":1}']);
  await invoices(demo, "protected", 1);
});
