import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { AxeBuilder } from "@axe-core/playwright";
import type { Page, TestInfo } from "@playwright/test";
import { type Demo, button, expect, fill, invoices, landed, open, requests, test } from "./demo.ts";
import { evaluate, evaluateText } from "./devtools.ts";

// What a person reads, and everybody can: no page has a violation that axe knows, in light or dark. Screenshots are kept.

const axe = readFileSync(createRequire(import.meta.resolve("@axe-core/playwright")).resolve("axe-core/axe.min.js"), "utf8");

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

/** Looks at a page that another one is about to follow, with the same axe. */
async function lookMeanwhile(page: Page, info: TestInfo, name: string): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await expect.poll(() => evaluate(devtools, () => document.querySelector(".semel-status")?.textContent)).toBe("Saving…");
  expect(await evaluate(devtools, () => document.forms[0]!.ariaBusy)).toBe("true");
  await evaluateText(devtools, axe);
  for (const value of ["light", "dark"]) {
    await devtools.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
    const found = await evaluateText(devtools, `axe.run().then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ": " + nodes.map((node) => node.html + node.failureSummary).join(" ")))`);
    expect(found, `${name} in ${value}`).toEqual([]);
    const { data } = await devtools.send("Page.captureScreenshot");
    const path = info.outputPath(`${name}-${value}.png`);
    writeFileSync(path, Buffer.from(data, "base64"));
    await info.attach(`${name}-${value}`, { path, contentType: "image/png" });
  }
}

/** Sends a form whose key the gateway has forgotten. */
async function sendStale(page: Page, demo: Demo): Promise<void> {
  await open(page, demo, "protected", "stale");
  await fetch(`${demo.page}/reset`, { method: "POST" });
  await button(page).click();
  await expect(page).toHaveURL(`${demo.protected}/invoices`);
}

for (const copy of ["protected", "guarded"] as const) {
  test(`the form of the ${copy} copy while it is being sent`, async ({ page, demo }, info) => {
    await demo.network(copy, "delay", 5000);
    await open(page, demo, copy, "saving");
    await button(page).click({ noWaitAfter: true });
    await requests(demo, copy, 1);
    await lookMeanwhile(page, info, `saving-${copy}`);
  });
}

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
