import { type Copy, type Demo, button, expect, fill, invoices, landed, open, requests, test } from "./demo.ts";
import { type Page, devices } from "@playwright/test";

// What impatient people do to the button. On the bare copy every submission is an invoice; the script sends one only,
// and behind the gateway it makes no difference how many are sent.
const copies: { name: Copy; rows: (sent: number) => number }[] = [
  { name: "unprotected", rows: (sent) => sent },
  { name: "protected", rows: () => 1 },
];

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

/** Expects to see the only invoice, or one of several, and counts them. */
async function expectRows(page: Page, demo: Demo, copy: Copy, rows: number): Promise<void> {
  await landed(page, rows === 1 ? 1 : undefined);
  await invoices(demo, copy, rows);
}

for (const { name, rows } of copies) {
  test.describe(`the ${name} copy`, { tag: name === "unprotected" ? "@long" : [] }, () => {
    for (const pause of [0, 50, 250, 1000]) {
      test(`a double click, ${pause} ms apart`, { tag: pause === 50 || pause === 250 ? "@long" : [] }, async ({ page, demo }) => {
        await demo.network(name, "delay", pause + 200); // the second click finds the form still there
        await open(page, demo, name, "double click");
        await doubleClick(page, demo, name, pause);
        await landed(page);
        // Without a pause, Chromium may give the first submission up before it is sent.
        const sent = pause === 0 ? (await demo.state())[name].requests : 2;
        await expectRows(page, demo, name, rows(sent));
        await page.getByRole("link", { name: "All invoices" }).click();
        await expect(page.getByRole("row"), "what the person's list shows").toHaveCount(1 + rows(sent));
      });
    }

    test("Enter three times, then a click", async ({ page, demo }) => {
      await demo.network(name, "delay", 800);
      await open(page, demo, name, "three times Enter");
      await page.getByLabel("Amount").focus();
      const [x, y] = await middle(page);
      for (const sent of [1, 2, 3]) {
        await page.keyboard.press("Enter");
        await requests(demo, name, name === "unprotected" ? sent : 1);
      }
      await page.mouse.click(x, y);
      await expectRows(page, demo, name, rows(4));
    });

    test.describe("on a phone", () => {
      const { defaultBrowserType: _, ...phone } = devices["Pixel 7"]!;
      test.use(phone);

      test("a double tap", async ({ page, demo }) => {
        await demo.network(name, "delay", 400);
        await open(page, demo, name, "double tap");
        const [x, y] = await middle(page);
        await page.touchscreen.tap(x, y);
        await requests(demo, name, 1);
        await page.touchscreen.tap(x, y);
        await expectRows(page, demo, name, rows(2));
      });
    });
  });
}

test("the script alone stops a double click, too", async ({ page, demo }) => {
  await demo.network("guarded", "delay", 450);
  await open(page, demo, "guarded", "double click");
  await doubleClick(page, demo, "guarded", 250);
  await expectRows(page, demo, "guarded", 1);
  await requests(demo, "guarded", 1);
});

test.describe("without scripts", () => {
  test.use({ javaScriptEnabled: false });

  for (const { name, rows } of [...copies, { name: "guarded" as const, rows: (sent: number) => sent }]) {
    test(`a double click on the ${name} copy`, { tag: name === "protected" ? [] : "@long" }, async ({ page, demo }) => {
      await demo.network(name, "delay", 400);
      await open(page, demo, name, "no scripts");
      await doubleClick(page, demo, name, 50);
      await requests(demo, name, 2);
      await expectRows(page, demo, name, rows(2));
    });
  }
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
  await expectRows(form, demo, "protected", 1);
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
  await expectRows(page, demo, "protected", 1);
});
