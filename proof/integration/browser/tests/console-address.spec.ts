import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, logIn, test } from "./console.ts";

// Chromium knows console.test as 127.0.0.1 (playwright.config.ts), and trusts it no more than any other name.

test("an operator logs in by name over plain http, and the cookie is for the console's path alone", async ({ browser, desk }) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await logIn(page, { console: desk.console.replace("127.0.0.1", "console.test") });
  const [cookie] = await context.cookies();
  expect(cookie).toMatchObject({ name: "semel_console", path: "/console/", httpOnly: true, sameSite: "Strict", secure: false });
  await context.close();
});

test("behind a proxy with TLS an operator's cookie is for TLS alone", async ({ browser, desk, dir }) => {
  const [key, cert] = [join(dir, "key.pem"), join(dir, "cert.pem")];
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert, "-subj", "/CN=console.test"], { stdio: "ignore" });
  const inside = new URL(desk.console);
  const proxy = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (asked, answer) => {
    asked.pipe(request({ host: inside.hostname, port: inside.port, path: asked.url, method: asked.method, headers: asked.headers }, (got) => {
      answer.writeHead(got.statusCode!, got.headers);
      got.pipe(answer);
    }));
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const outside = `https://console.test:${(proxy.address() as AddressInfo).port}/console/`;
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await logIn(page, { console: outside });
  const cookies = await context.cookies();
  expect(cookies).toHaveLength(1);
  expect(cookies[0]).toMatchObject({ name: "__Secure-semel_console", path: "/console/", httpOnly: true, sameSite: "Strict", secure: true });
  await page.getByRole("link", { name: "Audit" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Audit trail"); // the session goes on
  await context.close();
  proxy.closeAllConnections();
  proxy.close();
});
