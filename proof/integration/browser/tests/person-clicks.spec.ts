import { type Copy, type Demo, button, expect, invoices, landed, open, requests, test } from "./demo.ts";
import type { Page } from "@playwright/test";

// What impatient people do to the button, where the table of ways (ways.ts) does not look: how much is sent, and what the pages say.

/** Where the mouse goes: a locator would wait for the page to settle between two clicks. */
async function middle(page: Page): Promise<[number, number]> {
  await button(page).scrollIntoViewIfNeeded();
  const box = (await button(page).boundingBox())!;
  return [box.x + box.width / 2, box.y + box.height / 2];
}

/** Clicks the button two times. The pause is the person's; it lasts until the first submission has come. */
async function doubleClick(page: Page, demo: Demo, copy: Copy, pause: number): Promise<void> {
  const [x, y] = await middle(page);
  await page.mouse.click(x, y);
  if (pause > 0) await Promise.all([page.waitForTimeout(pause), requests(demo, copy, 1)]);
  await page.mouse.click(x, y);
}

/** Expects to see the only invoice. */
async function expectOne(page: Page, demo: Demo, copy: Copy): Promise<void> {
  await landed(page, 1);
  await invoices(demo, copy, 1);
}

test("the script alone stops a double click, too", async ({ page, demo }) => {
  await demo.network("guarded", "delay", 450);
  await open(page, demo, "guarded", "double click");
  await doubleClick(page, demo, "guarded", 250);
  await expectOne(page, demo, "guarded");
  await requests(demo, "guarded", 1);
});

test("with the keyboard alone, from the demo's page", async ({ page, demo }) => {
  await demo.network("protected", "delay", 400);
  await page.goto(demo.page);
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to the content" })).toBeFocused();
  await page.getByRole("link", { name: /Open the form of the protected copy/ }).focus();
  const popup = page.waitForEvent("popup");
  await page.keyboard.press("Enter");
  const form = await popup;
  await expect(form).toHaveURL(`${demo.protected}/invoices/new`);
  await form.getByLabel("Customer").focus();
  for (const key of ["ArrowDown", "Tab", "7", "5", "Tab", "Tab", "h", "i", "Tab"]) await form.keyboard.press(key);
  await expect(button(form)).toBeFocused();
  await form.keyboard.press("Enter");
  await form.keyboard.press("Space");
  await form.keyboard.press("Enter");
  await expectOne(form, demo, "protected");
});

test("a form with mistakes is shown again, and then creates one invoice", async ({ page, demo, expected }) => {
  expected.push(/status of 422/); // the browser's own words
  await open(page, demo, "protected", "mistakes");
  await page.getByLabel("Amount").fill("much");
  await button(page).click();
  await expect(page.getByRole("alert")).toContainText("Please correct this field");
  await expect(page.getByLabel("Note")).toHaveValue("mistakes");
  await page.getByLabel("Amount").fill("12.50");
  await demo.network("protected", "delay", 400);
  await doubleClick(page, demo, "protected", 0);
  await expectOne(page, demo, "protected");
});
