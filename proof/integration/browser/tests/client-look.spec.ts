import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { button, expect, fill, locked, notes, open, test } from "./shop.ts";

const texts = {
  en: "Saving…", sv: "Sparar…", hi: "सहेजा जा रहा है…", zh: "正在保存…",
};

/** Locks the form without leaving the page, so that the page can be looked at. */
async function hold(page: Page, language: string): Promise<void> {
  await page.evaluate((lang) => {
    document.documentElement.lang = lang;
    const form = document.forms[0]!;
    form.toggleAttribute("data-semel-hold", true);
    form.addEventListener("submit", (event) => event.preventDefault());
  }, language);
}

for (const [language, text] of Object.entries(texts)) {
  test(`a locked form in ${language} is accessible`, { tag: language === "en" ? [] : "@long" }, async ({ page, shop, sights }, info) => {
    await open(page, shop);
    await hold(page, language);
    await button(page).click();
    await locked(sights);
    await expect(page.locator("form").getByRole("status")).toHaveText(text);
    expect(sights.at(-1)).toMatchObject({ language, boxes: sights.findLast((sight) => !sight.busy)!.boxes });
    const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
    expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
    await info.attach("locked", { body: await page.screenshot(), contentType: "image/png" });
  });
}

test("an open form and a notice are accessible", async ({ page, shop }, info) => {
  await open(page, shop);
  await hold(page, "sv");
  await page.evaluate(() => document.forms[0]!.dispatchEvent(
    new CustomEvent("semel:settle", { bubbles: true, detail: { definitive: true, replayed: true } })));
  await expect(page.locator(".semel-notice")).toHaveText(/^You had already sent this order/);
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
  expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
  await info.attach("notice", { body: await page.screenshot(), contentType: "image/png" });
});

test("nothing is animated", async ({ page, shop, sights }) => {
  await open(page, shop);
  await hold(page, "en");
  await button(page).click();
  await locked(sights);
  expect(sights.at(-1)!.animations).toBe(0);
});

test("with the keyboard alone", async ({ page, shop, sights }) => {
  await shop.fault({ mode: "delay", ms: 1500, count: 9 });
  await page.goto(`${shop.url}/form.html`);
  await fill(page, "");
  await page.getByLabel("Note").focus();
  for (const key of ["h", "i", "Tab"]) await page.keyboard.press(key);
  await expect(button(page)).toBeFocused();
  await page.keyboard.press("Enter");
  await locked(sights);
  expect(sights.at(-1)!.focus).toBe("Place order");
  await page.keyboard.press("Space");
  await expect(page).toHaveURL(/\/orders\/[0-9a-f-]+$/);
  await notes(shop, "hi");
  expect(await shop.requests()).toBe(1);
});

test("in a narrow window the text stands below the button", async ({ page, shop, sights }) => {
  await page.setViewportSize({ width: 240, height: 700 });
  await open(page, shop);
  await hold(page, "hi");
  await button(page).click();
  await locked(sights);
  const [status, place] = [await page.locator("form").getByRole("status").boundingBox(), await button(page).boundingBox()];
  expect(status!.y).toBeGreaterThanOrEqual(place!.y + place!.height);
  expect(status!.x + status!.width).toBeLessThanOrEqual(240);
});
