import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, logIn, test } from "./console.ts";

// Of the same site, a page of another port is sent along with the cookie; one of another host is not.
for (const host of ["127.0.0.1", "localhost"]) {
  test(`a page of another origin at ${host} settles nothing and frames nothing`, async ({ browser, desk }) => {
    const key = randomUUID();
    await desk.send(key);
    const page = await (await browser.newContext()).newPage();
    await logIn(page, desk);
    await page.goto(`${desk.console}unknown`);
    await page.getByRole("link", { name: key }).click();
    const record = page.url();
    const verdict = { // as a form of the console sends it, with a token that leaked
      form: await page.locator("form.verdict input[name=form]").inputValue(), seen: await page.locator("form.verdict input[name=seen]").inputValue(),
      as: "cancelled", reason: "the page told me to",
    };
    const hostile = createServer((_, response) => response.writeHead(200, { "Content-Type": "text/html" }).end(`<!doctype html><title>x</title>
      <form method="post" action="${record}">${Object.entries(verdict).map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`).join("")}<button>Win</button></form>
      <iframe src="${record}"></iframe>`));
    hostile.listen(0, host);
    await once(hostile, "listening");
    const lure = `http://${host}:${(hostile.address() as AddressInfo).port}/`;

    await page.goto(lure);
    await expect.poll(() => page.frames()[1]?.url()).toMatch(/^chrome-error:/);
    for (const mode of ["no-cors", "cors"] as const) {
      const answer = await page.evaluate(async ([to, fields, mode]) => {
        try {
          return (await fetch(to, { method: "POST", body: new URLSearchParams(fields), credentials: "include", mode })).type;
        } catch (error) {
          return String(error);
        }
      }, [record, verdict, mode] as const);
      expect(answer, mode).toBe("TypeError: Failed to fetch"); // not even that there is an answer
    }
    const posted = page.waitForResponse((response) => response.request().method() === "POST" && response.url() === record);
    await page.getByRole("button", { name: "Win" }).click();
    expect((await posted).status()).toBe(403);

    await page.goto(`${desk.console}audit`);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Audit trail"); // the session goes on
    await expect(page.getByRole("main")).not.toContainText(verdict.reason);
    await page.goto(record);
    await expect(page.locator("dl.facts").first()).toContainText("unknown");
    hostile.closeAllConnections();
    hostile.close();
    await page.context().close();
  });
}
