import { type Page, expect } from "@playwright/test";
import { kept, type Mode, register, scripts, type ShellSite, test } from "./shell-site";

const heading = (page: Page) => page.locator("h1");

/** Opens the page once, with its worker, and leaves it. */
async function installed(page: Page, site: ShellSite): Promise<void> {
  await page.goto(`${site.url}/page.html`);
  await expect(heading(page)).toHaveText("page 1, script 1");
  expect(await page.evaluate(register)).toBe("installed");
  await page.goto("about:blank");
  site.version = 2;
}

test("the page opens from the network when there is one", async ({ page, site }) => {
  await installed(page, site);
  await page.goto(`${site.url}/page.html`);
  await expect(heading(page)).toHaveText("page 2, script 2");
});

const ways: [string, Mode][] = [
  ["the network is silent", "silent"], ["the network is silent in the middle of an answer", "stalled"], ["answers break off", "cut"],
  ["the server is away behind a proxy (502)", 502], ["the server is busy (503)", 503], ["too many requests (429)", 429],
  ["the server asks to sign in (401)", "signed-out"], ["the server refuses (403)", 403], ["a network asks to sign in (511)", 511],
  ["the server redirects to its sign-in page", "to-sign-in"],
];
for (const [name, mode] of ways) {
  test(`${name}: the page opens as it was kept, and nothing else is kept`, async ({ page, site }) => {
    await installed(page, site);
    site.mode = mode;
    await page.goto(`${site.url}/page.html`, { timeout: 30_000 });
    await expect(heading(page)).toHaveText("page 1, script 1");
    const files = await page.evaluate(kept);
    expect(Object.keys(files)).toHaveLength(scripts + 1);
    expect(Object.values(files).filter((text) => /half|Sign in|<h1>[45]/.test(text))).toEqual([]);
    site.mode = "answered";
    await expect(async () => {
      await page.goto(`${site.url}/page.html`);
      await expect(heading(page)).toHaveText("page 2, script 2", { timeout: 10_000 });
    }).toPass();
  });
}

for (const mode of ["held", "half-held"] as const) test(`a late answer is kept for the next time (${mode})`, async ({ page, site }) => {
  await installed(page, site);
  site.mode = mode;
  await page.goto(`${site.url}/page.html`, { timeout: 30_000 });
  await expect(heading(page)).toHaveText("page 1, script 1");
  site.release();
  await expect.poll(async () => (await page.evaluate(kept))["/page.html"]).toContain("page 2");
  await expect.poll(async () => (await page.evaluate(kept))[`/${scripts - 1}.js`]).toContain("last = 2");
  site.mode = "silent";
  await page.goto(`${site.url}/page.html`, { timeout: 30_000 });
  await expect(heading(page)).toHaveText("page 2, script 2");
});

test("a page in the place of scripts is not kept, and the page opens as it was kept", async ({ page, site }) => {
  await installed(page, site);
  site.portal = true;
  await page.goto(`${site.url}/page.html`);
  await expect(heading(page)).toHaveText("page 2, script 1");
  expect((await page.evaluate(kept))["/0.js"]).not.toContain("Accept");
});

test("a page that is gone is gone", async ({ page, site }) => {
  await installed(page, site);
  site.mode = 404;
  expect((await page.goto(`${site.url}/page.html`))!.status()).toBe(404);
  await expect(heading(page)).toHaveText("404");
});

for (const [name, mode] of [["a redirect to a sign-in page", "to-sign-in"], ["401", "signed-out"], ["an answer that breaks off", "cut"]] as const) {
  test(`a worker does not install itself with ${name} in the place of its shell`, async ({ page, site }) => {
    await page.goto(`${site.url}/home`);
    site.mode = mode;
    expect(await page.evaluate(register)).not.toBe("installed");
    expect(await page.evaluate(kept)).toEqual({});
    site.mode = "answered";
    expect(await page.evaluate(register)).toBe("installed");
  });
}

test("a worker does not install itself with pages in the place of its scripts", async ({ page, site }) => {
  await page.goto(`${site.url}/home`);
  site.portal = true;
  expect(await page.evaluate(register)).not.toBe("installed");
  expect(await page.evaluate(kept)).toEqual({});
});
