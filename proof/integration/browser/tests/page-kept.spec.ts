import { type Browser, expect, type Page, type PlaywrightWorkerArgs } from "@playwright/test";
import { answers, click, type Shop, shops as test } from "./page-guard.ts";

// Pages that the browser keeps as they are for Back. Playwright turns that off, so each test has a browser of its own.

async function launch(playwright: PlaywrightWorkerArgs["playwright"]): Promise<Browser> {
  return await playwright.chromium.launch({ executablePath: process.env.SEMEL_TEST_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"], ignoreDefaultArgs: ["--disable-back-forward-cache"] });
}

/** Makes the page's button send the order, and waits for what comes. */
async function press(page: Page, shop: Shop, lost: number): Promise<string> {
  shop.lost = lost;
  const had = await page.evaluate(() => (globalThis as unknown as { answers?: string[] }).answers?.length ?? 0);
  await click(page);
  return (await answers(page, had + 1)).at(-1)!;
}

test.beforeEach(({ shop }) => {
  shop.headers = { "Cache-Control": "no-cache" };
  shop.after = `<script>globalThis.answers = []; onpageshow = (event) => { globalThis.persisted = event.persisted };
document.addEventListener("click", () => fetch("/api/orders", { method: "POST", body: "tea" }).then((r) => r.text()).then((text) => answers.push(text), () => answers.push("lost")));</script>`;
});

for (const lost of [1, 0]) {
  test(`${lost ? "a lost answer" : "an answer"}, another page, Back to the page as it was, and another press`, { tag: "@whole" }, async ({ playwright, shop }) => {
    const browser = await launch(playwright);
    const page = await browser.newPage();
    await page.goto(shop.url);
    expect(await press(page, shop, lost)).toMatch(lost ? /^lost$/ : /"order":1/);
    await page.goto(`${shop.url}/other`);
    await page.evaluate(() => history.back());
    await page.waitForFunction(() => (globalThis as unknown as { persisted?: boolean }).persisted);
    expect(await press(page, shop, 0)).toContain('"order"');
    expect(shop.effects).toHaveLength(lost ? 1 : 2);
    await browser.close();
  });
}
