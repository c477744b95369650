import { mergeTests } from "@playwright/test";
import { kept, register, test as sites } from "../tests/shell-site.ts";
import { expect, test as browsers, text } from "./webkit.ts";

const test = mergeTests(browsers, sites);

for (const mode of ["silent", 503, "to-sign-in"] as const) {
  test(`${mode}: the page opens as it was kept`, async ({ person, site }) => {
    await person.manage().setTimeouts({ pageLoad: 30_000, script: 30_000 });
    await person.get(`${site.url}/page.html`);
    await expect.poll(() => text(person, "h1")).toBe("page 1, script 1");
    expect(await person.executeAsyncScript(`const done = arguments[0]; (${register})().then(done)`)).toBe("installed");
    site.version = 2;
    site.mode = mode;
    await person.get(`${site.url}/page.html`);
    await expect.poll(() => text(person, "h1")).toBe("page 1, script 1");
    expect(JSON.stringify(await person.executeAsyncScript(`const done = arguments[0]; (${kept})().then(done)`))).not.toContain("Sign in");
  });
}
