import { type Copy, button, expect, fill, invoices, landed, open, requests, test } from "./demo.ts";
import { type Page, chromium } from "@playwright/test";

// What people do with tabs, reload and Back. One form that was opened is one wish: sent twice as it is, it is one invoice;
// with something else typed in it, or opened anew, it is another.
const copies: { name: Copy; once: boolean }[] = [
  { name: "unprotected", once: false },
  { name: "protected", once: true },
];

/** What the gateway tells of a form that had been sent before. */
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
  test.describe(`the ${name} copy`, () => {
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
  });
}
