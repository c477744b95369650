import { AxeBuilder } from "@axe-core/playwright";
import { type Page, type TestInfo, expect, test as base } from "@playwright/test";
import { start } from "./program.ts";

/** The invoice application, naive or protected from inside, with a database of its own. */
export interface Application {
  url: string;
  counts(): Promise<{ invoices: number; payments: number; customers: number; emails: number }>;
}

async function run(use: (app: Application) => Promise<void>, flags: string[]): Promise<void> {
  const program = await start(process.env.SEMEL_TEST_INVOICES ?? "invoices", ["-listen", "127.0.0.1:0", ...flags]);
  const url = program.addresses.page!;
  await use({ url, counts: async () => (await fetch(`${url}/api/counts`)).json() });
  await program.stop();
}

/** Tests get an application of either kind. */
export const test = base.extend<{ naive: Application; inside: Application; scripted: Application }>({
  naive: async ({}, use) => run(use, ["-latency", "400ms"]),
  inside: async ({}, use) => run(use, ["-protected"]),
  scripted: async ({}, use) => run(use, ["-protected", "-guard"]),
});

export async function open(page: Page, app: Application): Promise<void> {
  await page.goto(`${app.url}/invoices/new`);
  await fill(page, "150");
}

/** Fills in what a browser that has gone back may have forgotten. */
export async function fill(page: Page, amount: string): Promise<void> {
  await page.getByLabel("Customer").selectOption({ label: "Ada Bakery" });
  await page.getByLabel("Amount").fill(amount);
}

export const create = (page: Page) => page.getByRole("button", { name: "Create invoice" });

/** Presses the button, and again as soon as the first request is under way: before that the browser makes one of two. */
export async function pressTwice(page: Page): Promise<void> {
  const box = (await create(page).boundingBox())!;
  const posted = page.waitForRequest((request) => request.method() === "POST");
  await page.mouse.click(box.x + 5, box.y + 5);
  await posted;
  await page.mouse.click(box.x + 5, box.y + 5);
}

/** Looks at the page in light and dark, wide and narrow: nothing sticks out, and axe is silent. It needs scripts. */
export async function look(page: Page, info: TestInfo, name: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const [width, height] of [[360, 740], [1280, 900]] as const) {
      await page.setViewportSize({ width, height });
      const path = info.outputPath(`${name}-${colorScheme}-${width}.png`);
      await page.screenshot({ path, fullPage: true });
      await info.attach(name, { path, contentType: "image/png" });
      const widest = await page.evaluate(() =>
        Math.max(...Array.from(document.querySelectorAll("body *"), (each) => each.getBoundingClientRect().right)));
      expect(widest, `${name}: nothing sticks out at ${width}`).toBeLessThanOrEqual(width);
    }
    const { violations } = await new AxeBuilder({ page }).setLegacyMode(true).analyze();
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
    expect(found, `${name} in ${colorScheme}`).toEqual([]);
  }
}

export { expect };
