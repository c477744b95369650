import { type Demo, expect, fill, invoices, requests, test } from "./demo.ts";
import type { Page } from "@playwright/test";

const sides = [
  { name: "unprotected", rows: (sent: number) => sent },
  { name: "protected", rows: () => 1 },
] as const;

/** Opens the form by the link on the demo's page. */
async function openForm(page: Page, demo: Demo, name: "unprotected" | "protected"): Promise<Page> {
  await page.goto(demo.page);
  const popup = page.waitForEvent("popup");
  await page.locator(name === "unprotected" ? ".bare" : ".kept").getByRole("link", { name: /Open the form/ }).click();
  const form = await popup;
  await expect(form).toHaveURL(`${demo[name]}/invoices/new`);
  return form;
}

for (const side of sides) {
  test.describe(`the ${side.name} copy`, () => {
    test("a double click", async ({ page, demo }, info) => {
      const form = await openForm(page, demo, side.name);
      await fill(form, "double click");
      const button = await form.getByRole("button", { name: "Create invoice" }).boundingBox();
      for (const sent of [1, 2]) {
        await form.mouse.click(button!.x + 20, button!.y + 10); // a locator would wait for the page to settle
        await requests(demo, side.name, sent);
      }
      await expect(form).toHaveURL(/\/invoices\/\d+$/);
      await expect(form.getByRole("heading", { level: 1 })).toContainText("Invoice INV-");
      await invoices(demo, side.name, side.rows(2));

      // The person's list shows what was stored, and the demo's page counts it
      // without being reloaded.
      await form.getByRole("link", { name: "All invoices" }).click();
      await expect(form.getByRole("row")).toHaveCount(1 + side.rows(2));
      const counts = page.locator(side.name === "unprotected" ? "#bare-counts" : "#kept-counts");
      await expect(counts).toContainText(side.rows(2) === 1 ? "1 invoice 1 e-mail" : "2 invoices 2 e-mails");
      await expect(counts).toContainText("2 requests");
      await info.attach("page", { body: await page.screenshot({ fullPage: true }), contentType: "image/png" });
    });

    test("Enter three times", async ({ page, demo }) => {
      const form = await openForm(page, demo, side.name);
      await fill(form, "three times Enter");
      await form.getByLabel("Amount").focus();
      for (const sent of [1, 2, 3]) {
        await form.keyboard.press("Enter");
        await requests(demo, side.name, sent);
      }
      await expect(form).toHaveURL(/\/invoices\/\d+$/);
      await invoices(demo, side.name, side.rows(3));
    });

    test("two tabs", async ({ page, demo }) => {
      const first = await openForm(page, demo, side.name);
      const second = await page.context().newPage();
      await second.goto(first.url());
      for (const tab of [first, second]) await fill(tab, "two tabs");
      await Promise.all(
        [first, second].map((tab) => tab.getByRole("button", { name: "Create invoice" }).click({ noWaitAfter: true })),
      );
      for (const tab of [first, second]) await expect(tab).toHaveURL(/\/invoices\/\d+$/);
      await invoices(demo, side.name, side.rows(2));
      if (side.name === "protected") expect(second.url()).toBe(first.url());
    });

    test("back, and once more", async ({ page, demo }) => {
      const form = await openForm(page, demo, side.name);
      await fill(form, "back and again");
      await form.getByRole("button", { name: "Create invoice" }).click();
      await expect(form).toHaveURL(/\/invoices\/\d+$/);
      const landed = form.url();
      await form.goBack();
      await fill(form, "back and again");
      await form.getByRole("button", { name: "Create invoice" }).click();
      await expect(form).toHaveURL(side.name === "protected" ? landed : /\/invoices\/2$/);
      await invoices(demo, side.name, side.rows(2));
    });
  });
}

test("another invoice is another wish", async ({ page, demo }) => {
  const form = await openForm(page, demo, "protected");
  await fill(form, "first");
  await form.getByRole("button", { name: "Create invoice" }).click();
  await expect(form).toHaveURL(/\/invoices\/1$/);
  await form.goto(`${demo.protected}/invoices/new`);
  await fill(form, "second");
  await form.getByRole("button", { name: "Create invoice" }).click();
  await expect(form).toHaveURL(/\/invoices\/2$/);
  await invoices(demo, "protected", 2);
});

test("with the keyboard alone", async ({ page, demo }) => {
  await page.goto(demo.page);
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to the content" })).toBeFocused();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab"); // the link of the protected copy
  const popup = page.waitForEvent("popup");
  await page.keyboard.press("Enter");
  const form = await popup;
  await expect(form).toHaveURL(`${demo.protected}/invoices/new`);
  await form.getByLabel("Customer").focus();
  for (const key of ["ArrowDown", "Tab", "7", "5", "Tab", "Tab", "h", "i", "Tab"]) await form.keyboard.press(key);
  await expect(form.getByRole("button", { name: "Create invoice" })).toBeFocused();
  await form.keyboard.press("Enter");
  await requests(demo, "protected", 1);
  await form.keyboard.press("Space");
  await requests(demo, "protected", 2);
  await expect(form).toHaveURL(/\/invoices\/1$/);
  await invoices(demo, "protected", 1);
});
