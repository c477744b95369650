import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { AxeBuilder } from "@axe-core/playwright";
import type { Page, TestInfo } from "@playwright/test";
import { type Demo, button, expect, fill, invoices, landed, open, requests, test } from "./demo.ts";

// Every person can read the pages: no page has a violation that axe knows, in light or dark. Screenshots are kept.

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

/** Sends a form whose key the gateway has forgotten. */
async function sendStale(page: Page, demo: Demo): Promise<void> {
  await open(page, demo, "protected", "stale");
  await fetch(`${demo.page}/reset`, { method: "POST" });
  await button(page).click();
  await expect(page).toHaveURL(`${demo.protected}/invoices`);
}

for (const copy of ["protected", "guarded"] as const) {
  for (const colorScheme of ["light", "dark"] as const) {
    // Nothing can be asked of a page while the next one is on its way, so it reports on its own.
    test(`the form of the ${copy} copy while it is being sent, ${colorScheme}`, { tag: colorScheme === "dark" ? "@long" : [] }, async ({ page, demo }, info) => {
      const told = new Promise<object>((resolve) => void page.exposeFunction("tell", resolve));
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.addInitScript(axe);
      await page.addInitScript(lookWhenLocked);
      await demo.network(copy, "delay", 10_000);
      await open(page, demo, copy, "saving");
      const devtools = await page.context().newCDPSession(page);
      const box = (await button(page).boundingBox())!;
      await page.mouse.click(box.x + 5, box.y + 5);
      expect(await told).toEqual({ status: "Saving…", busy: "true", violations: [] });
      const { data } = await devtools.send("Page.captureScreenshot");
      const path = info.outputPath(`saving-${copy}-${colorScheme}.png`);
      writeFileSync(path, Buffer.from(data, "base64"));
      await info.attach("saving", { path, contentType: "image/png" });
      await demo.network(copy, "normal"); // what is delayed goes on
      await landed(page, 1);
    });
  }
}

/** Runs in the page: tells what it looks like when its form is locked. */
function lookWhenLocked(): void {
  addEventListener("semel:lock", () => setTimeout(async () => {
    const { axe, tell } = window as unknown as { axe: typeof import("axe-core"); tell(what: object): void };
    const { violations } = await axe.run();
    tell({
      status: document.querySelector(".semel-status")!.textContent, busy: document.forms[0]!.ariaBusy,
      violations: violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`),
    });
  }));
}

test("the notice after Back and the same again", async ({ page, demo }, info) => {
  await open(page, demo, "protected", "notice");
  await button(page).click();
  await landed(page, 1);
  await page.goBack();
  await fill(page, "notice");
  await button(page).click();
  await landed(page, 1);
  await expect(page.getByText(/You had already sent this form|We ignored the duplicate/)).toBeVisible();
  await look(page, info, "notice");
  await page.reload();
  await expect(page.locator(".semel-notice"), "it is told once").toHaveCount(0);
});

for (const [locale, words] of [
  ["en-GB", "Nothing new was saved"],
  ["sv-SE", "Inget nytt"],
  ["hi-IN", "कुछ भी नया सहेजा नहीं गया"],
  ["zh-CN", "没有保存任何新内容"],
] as const) {
  test.describe(`in ${locale}`, () => {
    test.use({ locale });

    test("a form whose key is too old", { tag: locale === "sv-SE" ? [] : "@long" }, async ({ page, demo, expected }, info) => {
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
