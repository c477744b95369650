import { expect, test } from "./site.ts";

// Playwright switches the browser's memory of pages off; here it is on, as it is for people.
test.use({ launchOptions: async ({ launchOptions }, use) => use({ ...launchOptions, ignoreDefaultArgs: ["--disable-back-forward-cache"] }) });

test("Back from the browser's own memory restores the page unlocked, with the same draft", { tag: "@whole" }, async ({ page, site }) => {
  site.page = '<form method="post" action="/save" data-semel><button>Save</button></form>';
  await page.goto(site.url);
  await page.evaluate(() => window.addEventListener("pageshow", (event) => (document.title = String(event.persisted))));
  await page.getByRole("button").click();
  await expect(page).toHaveURL(/done$/);
  await page.goBack({ waitUntil: "commit" });
  await expect(page).toHaveTitle("true"); // it did come from memory
  await expect(page.locator("form")).not.toHaveAttribute("aria-busy");
  await page.getByRole("button").click();
  await expect.poll(() => site.arrived.length).toBe(2);
  expect(site.arrived[1]!.fields).toEqual(site.arrived[0]!.fields);
});
