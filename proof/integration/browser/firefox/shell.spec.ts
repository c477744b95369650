import { mergeTests } from "@playwright/test";
import { kept, register, test as sites } from "../tests/shell-site.ts";
import { expect, test as browsers } from "./firefox.ts";

const test = mergeTests(browsers, sites);

for (const mode of ["silent", 503, "to-sign-in"] as const) {
  test(`${mode}: the page opens as it was kept`, async ({ person, site }) => {
    const page = await person.newPage();
    const heading = () => page.evaluate(() => document.querySelector("h1")?.textContent);
    await page.goto(`${site.url}/page.html`);
    await expect.poll(heading).toBe("page 1, script 1");
    expect(await page.evaluate(register)).toBe("installed");
    site.version = 2;
    site.mode = mode;
    await page.goto(`${site.url}/page.html`, { timeout: 30_000 });
    await expect.poll(heading).toBe("page 1, script 1");
    expect(JSON.stringify(await page.evaluate(kept))).not.toContain("Sign in");
  });
}
