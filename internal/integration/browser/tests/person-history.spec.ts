import { type BrowserContext, type Page, chromium } from "@playwright/test";
import { CrashedTab } from "./crash.ts";
import { type Copy, button, expect, fill, invoices, landed, listen, open, requests, test as base } from "./demo.ts";

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

// What people do with tabs, reload and Back. One form that was opened is one wish: sent twice as it is, it is one invoice;
// with something else typed in it, or opened anew, it is another.
const copies: { name: Copy; once: boolean }[] = [
  { name: "unprotected", once: false },
  { name: "protected", once: true },
];

/** The gateway's notice for a form that had been sent before. */
function notice(page: Page) {
  return page.locator(".semel-notice");
}

/** Opens the same page in another tab as a browser does from its cache: not a byte of it is new. */
async function duplicate(page: Page): Promise<Page> {
  const cached = await (await page.context().request.get(page.url())).text();
  const second = await page.context().newPage();
  for (const tab of [page, second]) {
    await tab.route(page.url(), (route) => route.fulfill({ contentType: "text/html; charset=utf-8", body: cached }), { times: 1 });
    await tab.goto(page.url());
  }
  return second;
}

/** Presses the reload key while another page is on its way, which Playwright's own reload takes for an error. */
async function reload(page: Page): Promise<void> {
  const loaded = page.waitForEvent("load");
  await (await page.context().newCDPSession(page)).send("Page.reload");
  await loaded;
}

for (const { name, once } of copies) {
  test.describe(`the ${name} copy`, { tag: name === "unprotected" ? "@long" : [] }, () => {
    test("two tabs of one page race", async ({ page, demo }) => {
      await page.goto(`${demo[name]}/invoices/new`);
      const second = await duplicate(page);
      for (const tab of [page, second]) await fill(tab, "two tabs");
      await demo.network(name, "delay", 300); // both are under way at once
      await Promise.all([page, second].map((tab) => button(tab).click({ noWaitAfter: true })));
      await requests(demo, name, 2);
      for (const tab of [page, second]) await landed(tab, once ? 1 : undefined);
      await invoices(demo, name, once ? 1 : 2);
    });

    test("a reload while the form is being sent", async ({ page, demo }) => {
      await demo.network(name, "delay", 600);
      await open(page, demo, name, "reload");
      await button(page).click({ noWaitAfter: true });
      await requests(demo, name, 1);
      await reload(page);
      await fill(page, "reload");
      await button(page).click();
      await landed(page);
      await invoices(demo, name, once ? 1 : 2);
    });

    test("Back, and the same again", async ({ page, demo }) => {
      await open(page, demo, name, "back");
      await button(page).click();
      await landed(page, 1);
      await page.goBack();
      await fill(page, "back");
      await button(page).click();
      await landed(page, once ? 1 : 2);
      if (once) await expect(notice(page)).toBeVisible();
      await invoices(demo, name, once ? 1 : 2);
    });

    test("Back, and something else", async ({ page, demo }) => {
      await open(page, demo, name, "back");
      await button(page).click();
      await landed(page, 1);
      await page.goBack();
      await fill(page, "back", "99.00");
      await button(page).click();
      await landed(page, 2);
      await expect(notice(page)).toHaveCount(0);
      await expect(page.getByRole("main")).toContainText("99.00");
      await invoices(demo, name, 2);
    });

    test("the form opened anew, and the same typed", async ({ page, demo }) => {
      for (const number of [1, 2]) {
        await open(page, demo, name, "I mean it twice");
        await button(page).click();
        await landed(page, number);
      }
      await expect(notice(page)).toHaveCount(0);
      await invoices(demo, name, 2);
    });

    test("the tab crashes while the form is being sent, and is reloaded", async ({ page, demo, browser }) => {
      await demo.network(name, "delay", 500);
      await open(page, demo, name, "crash");
      await button(page).click({ noWaitAfter: true });
      await requests(demo, name, 1);
      const tab = await CrashedTab.kill(browser, page);
      await tab.reload();
      await tab.expect("location.pathname", "/invoices/new");
      const values = { customer_id: "1", amount: "1250.50", note: "crash" };
      await tab.evaluate(`for (const [id, value] of Object.entries(${JSON.stringify(values)})) document.getElementById(id).value = value`);
      await tab.evaluate("document.querySelector('form.card button').click()");
      await tab.expect("document.querySelector('h1').textContent.replace(/-.*-/, ' ')", `Invoice INV ${once ? "0001" : "0002"}`);
      await invoices(demo, name, once ? 1 : 2);
    });
  });
}

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

  for (const { name, once } of copies) {
    test(`Back, and the same again on the ${name} copy`, { tag: name === "protected" ? [] : "@long" }, async ({ page, demo }) => {
      await open(page, demo, name, "no scripts");
      await button(page).click();
      await landed(page, 1);
      await page.goBack();
      await fill(page, "no scripts");
      await button(page).click();
      await landed(page, once ? 1 : 2);
      await expect(notice(page)).toHaveCount(once ? 1 : 0);
      await invoices(demo, name, once ? 1 : 2);
    });
  }
});
