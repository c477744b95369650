import { type BrowserContext, type Page, chromium } from "@playwright/test";
import { CrashedTab } from "./crash.ts";
import { button, expect, fill, invoices, landed, listen, open, requests, test as base } from "./demo.ts";

/** Playwright switches off the cache of whole pages that Back uses; launched is a browser that has it. */
const test = base.extend<{ launched: BrowserContext }>({
  launched: async ({ complaints }, use, info) => {
    const browser = await chromium.launch({
      ...info.project.use.launchOptions, ignoreDefaultArgs: ["--disable-back-forward-cache"],
    });
    const context = await browser.newContext();
    listen(context, complaints);
    await use(context);
    await browser.close();
  },
});

// What people do with tabs, reload and Back, and bad networks to them, where the table of ways (ways.ts) does not go.

/** The gateway's notice for a form that had been sent before. */
function notice(page: Page) {
  return page.locator(".semel-notice");
}

test("the tab crashes while the form is being sent, and is reloaded", async ({ page, demo, browser }) => {
  await demo.network("protected", "delay", 500);
  await open(page, demo, "protected", "crash");
  await button(page).click({ noWaitAfter: true });
  await requests(demo, "protected", 1);
  const tab = await CrashedTab.kill(browser, page);
  await tab.reload();
  await tab.expect("location.pathname", "/invoices/new");
  const values = { customer_id: "1", amount: "1250.50", note: "crash" };
  await tab.evaluate(`for (const [id, value] of Object.entries(${JSON.stringify(values)})) document.getElementById(id).value = value`);
  await tab.evaluate("document.querySelector('form.card button').click()");
  await tab.expect("document.querySelector('h1').textContent.replace(/-.*-/, ' ')", "Invoice INV 0001");
  await invoices(demo, "protected", 1);
});

test("Chromium sends the form again by itself", async ({ page, demo }) => {
  await open(page, demo, "protected", "sent again");
  await demo.network("protected", "close-reused");
  await button(page).click();
  await landed(page, 1);
  const { networks, protected: side } = await demo.state();
  expect(side.requests).toBe(2);
  expect(networks.protected.resent, "nobody clicked twice").toBe(1);
  await invoices(demo, "protected", 1);
});

test("Back brings the very same page again, with its form open for another try", { tag: "@whole" }, async ({ demo, launched }) => {
  const page = await launched.newPage();
  await page.addInitScript(() => addEventListener("pageshow", (event) => (document.documentElement.dataset.persisted = String(event.persisted))));
  await open(page, demo, "protected", "bfcache");
  await button(page).click();
  await landed(page, 1);
  await page.goBack({ waitUntil: "commit" });
  await expect(page.locator("html")).toHaveAttribute("data-persisted", "true");
  await expect(page.locator("form.card")).not.toHaveAttribute("aria-busy", "true");
  await expect(page.locator(".semel-status")).toHaveText("");
  await expect(page.getByLabel("Note")).toHaveValue("bfcache");
  await button(page).click();
  await landed(page, 1);
  await expect(notice(page)).toBeVisible();
  await invoices(demo, "protected", 1);
});

test("somebody else signs in between, and nothing is done in their name", async ({ page, demo, context, expected }) => {
  expected.push(/status of 409/); // the browser's own words
  await open(page, demo, "protected", "whose");
  await context.clearCookies();
  const other = await context.newPage();
  await other.goto(`${demo.protected}/invoices/new`); // gets a session of its own
  await button(page).click();
  await expect(page).toHaveURL(`${demo.protected}/invoices`);
  await expect(page.getByRole("heading", { level: 1 })).not.toContainText("Invoice INV-");
  await invoices(demo, "protected", 0);
  await fill(other, "whose");
  await button(other).click();
  await landed(other, 1);
  await invoices(demo, "protected", 1);
});

test.describe("without scripts", () => {
  test.use({ javaScriptEnabled: false });

  test("Back, and the same again", async ({ page, demo }) => {
    await open(page, demo, "protected", "no scripts");
    await button(page).click();
    await landed(page, 1);
    await page.goBack();
    await fill(page, "no scripts");
    await button(page).click();
    await landed(page, 1);
    await expect(notice(page)).toHaveCount(1);
    await invoices(demo, "protected", 1);
  });
});
