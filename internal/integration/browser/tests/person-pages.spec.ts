import { AxeBuilder } from "@axe-core/playwright";
import type { Page, TestInfo } from "@playwright/test";
import { type Demo, button, expect, fill, invoices, landed, open, requests, test } from "./demo.ts";

// What a person reads, and everybody can: no page has a violation that axe knows, in light or dark. Screenshots are kept.

/** Looks at the page in light and in dark. */
async function look(page: Page, info: TestInfo, name: string): Promise<void> {
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    const { violations } = await new AxeBuilder({ page }).setLegacyMode(true).analyze();
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
    expect(found, `${name} in ${scheme}`).toEqual([]);
    const path = info.outputPath(`${name}-${scheme}.png`);
    await page.screenshot({ path, fullPage: true });
    await info.attach(`${name}-${scheme}`, { path, contentType: "image/png" });
  }
}

/** Sends a form whose key the gateway has forgotten. */
async function sendStale(page: Page, demo: Demo): Promise<void> {
  await open(page, demo, "protected", "stale");
  await fetch(`${demo.page}/reset`, { method: "POST" });
  await button(page).click();
  await expect(page).toHaveURL(`${demo.protected}/invoices`);
}

test("the form while it is being sent", async ({ page, demo }, info) => {
  for (const copy of ["protected", "guarded"] as const) {
    await demo.network(copy, "delay", 10_000);
    await open(page, demo, copy, "saving");
    await button(page).click({ noWaitAfter: true });
    await expect(page.locator(".semel-status")).toHaveText("Saving…");
    await expect(page.locator("form.card")).toHaveAttribute("aria-busy", "true");
    await look(page, info, `saving-${copy}`);
    await demo.network(copy, "normal");
  }
});

test("the notice after Back and the same again", async ({ page, demo }, info) => {
  await open(page, demo, "protected", "notice");
  await button(page).click();
  await landed(page, 1);
  await page.goBack();
  await fill(page, "notice");
  await button(page).click();
  await landed(page, 1);
  await expect(page.getByText(/This form had already been sent|We ignored the duplicate/)).toBeVisible();
  await look(page, info, "notice");
  await page.reload();
  await expect(page.locator(".semel-notice"), "it is told once").toHaveCount(0);
});

for (const [locale, words] of [
  ["en-GB", "Nothing was done"],
  ["sv-SE", "Ingenting"],
  ["hi-IN", "कुछ नहीं"],
  ["zh-CN", "没有"],
] as const) {
  test.describe(`in ${locale}`, () => {
    test.use({ locale });

    test("a form whose key is too old", async ({ page, demo, expected }, info) => {
      expected.push(/status of 409/); // the browser's own words
      await sendStale(page, demo);
      await expect(page.locator("html")).toHaveAttribute("lang", locale.slice(0, 2));
      console.log(await page.locator("body").innerText());
      await expect(page.getByRole("main")).toContainText(words);
      await look(page, info, `stale-${locale}`);
      await invoices(demo, "protected", 0);
      await open(page, demo, "protected", "stale");
      await button(page).click();
      await landed(page, 1);
      await invoices(demo, "protected", 1);
    });
  });
}

test("the demo's page", async ({ page, demo }, info) => {
  await demo.network("guarded", "lose-answer");
  await page.goto(demo.page);
  await expect(page.locator("#live")).toHaveText("Live");
  await look(page, info, "demo");
});
