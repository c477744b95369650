import { type Copy, type Demo, expect, test as base } from "../tests/demo.ts";
import puppeteer, { type Browser, type BrowserContext, type Page } from "puppeteer-core";

/** A Firefox for all tests of a file, and for each test windows of its own in it. */
export const test = base.extend<{ person: BrowserContext }, { preferences: Record<string, unknown>; firefox: Browser }>({
  preferences: [{}, { option: true, scope: "worker" }],
  firefox: [
    async ({ preferences }, use) => {
      const firefox = await puppeteer.launch({
        browser: "firefox",
        executablePath: process.env.SEMEL_TEST_FIREFOX ?? "/usr/bin/firefox-esr",
        protocol: "webDriverBiDi",
        headless: true,
        extraPrefsFirefox: preferences,
      });
      await use(firefox);
      await firefox.close();
    },
    { scope: "worker" },
  ],
  person: async ({ firefox }, use) => {
    const person = await firefox.createBrowserContext();
    await use(person);
    await person.close();
  },
  complaints: [async ({}, use) => use([]), { auto: true }], // those of Chromium
});

/** Opens the form of one copy in a new tab and fills it in. */
export async function open(person: BrowserContext, demo: Demo, copy: Copy, note: string): Promise<Page> {
  const page = await person.newPage();
  await page.goto(`${demo[copy]}/invoices/new`);
  await fill(page, note);
  return page;
}

/** Fills the form by the keyboard, over what is in it. */
export async function fill(page: Page, note: string, amount = "1250.50"): Promise<void> {
  await choose(page);
  for (const [field, text] of [["#amount", amount], ["#note", note]] as const) {
    await page.focus(field);
    await page.keyboard.down("Control");
    await page.keyboard.press("a");
    await page.keyboard.up("Control");
    await page.keyboard.type(text);
  }
}

/** Chooses the first customer, whichever was chosen. */
async function choose(page: Page): Promise<void> {
  await page.focus("select");
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
}

/** Where the button is: a click there waits for nothing. */
export async function middle(page: Page): Promise<[number, number]> {
  const button = (await page.$("form button[type=submit]"))!;
  await button.scrollIntoView();
  const box = (await button.boundingBox())!;
  return [box.x + box.width / 2, box.y + box.height / 2];
}

/** Presses the button once. */
export async function press(page: Page): Promise<void> {
  await page.mouse.click(...(await middle(page)));
}

/** Goes back as the browser's button does, out of its cache if the page is there. */
export async function back(page: Page): Promise<void> {
  await page.evaluate(() => history.back());
  await expect.poll(() => address(page)).not.toMatch(/^$|\/invoices\/\d+$/);
  await expect.poll(() => page.$("form button[type=submit]").catch(() => null)).not.toBeNull();
}

/** Where the page is, as itself says: Puppeteer misses that one comes out of the cache. "" between two pages. */
async function address(page: Page): Promise<string> {
  return page.evaluate(() => location.href).catch(() => "");
}

/** Expects the person to see an invoice: this one, or any. */
export async function landed(page: Page, number?: number): Promise<void> {
  await expect.poll(() => address(page)).toMatch(number === undefined ? /\/invoices\/\d+$/ : new RegExp(`/invoices/${number}$`));
  await expect.poll(() => heading(page)).toContain("Invoice INV-");
}

/** The page's heading; "" while there is none, such as between two pages. */
async function heading(page: Page): Promise<string> {
  return (await page.$eval("h1", (h) => h.textContent).catch(() => "")) ?? "";
}

/** The notice for a form that had been sent before. */
export async function notices(page: Page): Promise<number> {
  return (await page.$$(".semel-notice")).length;
}

export { expect };
