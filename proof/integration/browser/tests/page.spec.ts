import AxeBuilder from "@axe-core/playwright";
import { button, expect, fill, invoices, requests, test } from "./demo.ts";

const sizes = [
  { name: "desktop", width: 1280, height: 900 },
  { name: "phone", width: 390, height: 844 },
  { name: "narrow", width: 360, height: 740 },
];

for (const scheme of ["light", "dark"] as const) {
  for (const { name, width, height } of sizes) {
    test(`looks right: ${name}, ${scheme}`, { tag: (name === "phone") === (scheme === "dark") && name !== "narrow" ? [] : "@long" }, async ({ page, demo }, info) => {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height });
      const call = (key: string) =>
        fetch(`${demo.protected}/api/invoices`, {
          method: "POST",
          headers: { "Content-Type": "application/json", "Idempotency-Key": key },
          body: JSON.stringify({ customer_id: 1, amount_cents: 4200 }),
        });
      await Promise.all([call("k1"), call("k1")]);
      await page.goto(demo.page);
      await expect(page.getByRole("cell", { name: /^replayed/ })).toBeVisible();
      await page.getByText("The rules of the gateways").click();
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect(overflow, "nothing sticks out to the right").toBeLessThanOrEqual(0);
      const contrasts = await page.evaluate(lowContrast);
      expect(contrasts, "text is readable (WCAG AA)").toEqual([]);
      const file = info.outputPath(`${name}-${scheme}.png`);
      await page.screenshot({ path: file, fullPage: true });
      await info.attach("page", { path: file, contentType: "image/png" });
    });
  }
}

test("what to do, and the link to each copy, are in sight at 1280 by 800", async ({ page, demo }) => {
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(demo.page);
  await expect(page.getByText("double-click “Create invoice”, and compare the counts")).toBeInViewport({ ratio: 1 });
  const links = page.locator(".goto").getByRole("link");
  await expect(links).toHaveCount(5);
  for (const link of await links.all()) await expect(link).toBeInViewport({ ratio: 1 });
});

for (const [copy, count] of [["scripts", 2], ["paged", 1]] as const) {
  test(`a double click on the page without forms, ${copy}: ${count} of it`, async ({ page, demo }) => {
    await demo.network("scripts", "delay", 400); // of both
    await page.goto(demo.page);
    const popup = page.waitForEvent("popup");
    await page.locator(`a[target=semel-${copy}]`).click();
    const form = await popup;
    await form.setViewportSize({ width: 360, height: 740 });
    expect((await new AxeBuilder({ page: form }).setLegacyMode().analyze()).violations).toEqual([]);
    expect(await form.evaluate(() => document.documentElement.scrollWidth - window.innerWidth), "nothing sticks out to the right").toBeLessThanOrEqual(0);
    await button(form).dblclick();
    await expect(form.getByRole("status")).toHaveText(/^Invoice INV-[\d-]+ created\.$/);
    await requests(demo, copy, 2);
    await invoices(demo, copy, count);
    await expect(page.locator(`#${copy}-counts`)).toContainText(`2 requests → ${count} invoice${count > 1 ? "s" : ""}`);
    expect((await new AxeBuilder({ page }).setLegacyMode().analyze()).violations).toEqual([]);
  });
}

test("decisions and counts come without a reload, and reset empties them", async ({ page, demo }) => {
  await page.goto(demo.page);
  await expect(page.locator("#live")).toHaveText("Live");
  await expect(page.locator("#kept-counts")).toContainText("0 requests");
  const form = await page.context().newPage();
  await form.goto(`${demo.protected}/invoices/new`);
  await fill(form, "live");
  await form.getByRole("button", { name: "Create invoice" }).click();
  await expect(page.locator("#kept-counts")).toContainText("1 request → 1 invoice 1 e-mail");
  await expect(page.getByRole("row", { name: /create an invoice executed/ })).toBeVisible();
  await page.getByRole("button", { name: "Reset the demo" }).click();
  await expect(page.getByRole("status").filter({ hasText: "The demo was reset: all copies are empty again." })).toBeVisible();
  await expect(page.locator("#kept-counts")).toContainText("0 requests → 0 invoices 0 e-mails");
});

test("a choice sets the network at once", async ({ page, demo }) => {
  await page.goto(demo.page);
  await expect(page.locator("#live")).toHaveText("Live");
  await page.getByRole("group", { name: /of the unprotected copy/ }).getByLabel("loses the answer").check();
  await expect(page.locator("#unprotected").getByRole("status")).toHaveText("The network setting was changed.");
  const { networks } = await demo.state();
  expect([networks.unprotected.condition, networks.protected.condition]).toEqual(["lose-answer", "normal"]);
});

test.describe("without scripts", () => {
  test.use({ javaScriptEnabled: false });

  test("the page reloads itself and everything works", { tag: "@long" }, async ({ page, demo }) => {
    await page.goto(demo.page);
    await expect(page.locator('meta[http-equiv="refresh"]')).toHaveCount(1);
    const form = await page.context().newPage();
    await form.goto(`${demo.unprotected}/invoices/new`);
    await fill(form, "no scripts");
    await form.getByRole("button", { name: "Create invoice" }).click();
    await expect(page.locator("#bare-counts")).toContainText("1 request → 1 invoice 1 e-mail");
    await page.getByRole("group", { name: /of the guarded copy|of the copy with the script/ }).getByLabel("loses the request").check();
    await page.getByRole("button", { name: /Set the network of the copy with the script/ }).click();
    await expect(page.locator("#guarded").getByRole("status")).toHaveText("The network setting was changed.");
    expect((await demo.state()).networks.guarded.condition).toBe("drop-request");
    await page.getByRole("button", { name: "Reset the demo" }).click();
    await expect(page.locator("#bare-counts")).toContainText("0 requests → 0 invoices 0 e-mails");
  });
});

/** Runs in the page: texts with too little contrast to their background. */
function lowContrast(): string[] {
  const parse = (colour: string) => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = ([r, g, b]: number[]) =>
    [r, g, b]
      .map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
      .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element: Element | null): number[] => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found: string[] = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim());
    if (!own || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const [light, dark] = [luminance(parse(style.color)), luminance(behind(element))].sort((a, b) => b - a);
    const large = parseFloat(style.fontSize) >= 24;
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < (large ? 3 : 4.5)) found.push(`${element.textContent?.trim()}: ${contrast.toFixed(2)}`);
  }
  return found;
}
