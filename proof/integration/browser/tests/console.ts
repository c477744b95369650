import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Page, expect, test as base } from "@playwright/test";
import { start } from "./program.ts";

export { expect };

export const token = "alice-0123456789abcdef0123456789abcdef";

/** A gateway with a console and an outcome log, before an application that makes invoice 77 for /invoices, and takes any other POST and hangs up. */
export interface Desk {
  console: string;
  /** Sends a POST under a key, and returns the status of the answer and its body. */
  send(key: string, path?: string): Promise<[number, string]>;
}

/** A service that uses the library: a directory for its databases, and a console for them. */
export interface Service {
  dir: string;
  /** Serves the console of the store semel.db in it, with these flags, and returns its address. */
  console(...flags: string[]): Promise<string>;
}

export const test = base.extend<{ desk: Desk; service: Service; dir: string }>({
  dir: async ({}, use) => {
    const dir = mkdtempSync(join(tmpdir(), "semel-console-"));
    writeFileSync(join(dir, "tokens"), `alice ${token}\n`, { mode: 0o600 });
    await use(dir);
    rmSync(dir, { recursive: true, force: true });
  },
  desk: async ({ dir }, use) => {
    const application = createServer((request, response) => {
      request.resume();
      request.on("end", () => {
        if (request.url === "/invoices") response.writeHead(201, { Location: "/invoices/77" }).end('{"id":77}');
        else response.destroy();
      });
    });
    application.listen(0, "127.0.0.1");
    await once(application, "listening");
    const gateway = await start(process.env.SEMEL_TEST_BIN!, [
      "gateway", "--upstream", `http://127.0.0.1:${(application.address() as AddressInfo).port}`, "--store", `sqlite:${join(dir, "semel.db")}`,
      "--outcome-log", "720h", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--admin-tokens-file", join(dir, "tokens"),
    ]);
    await use({
      console: `${gateway.addresses.admin}/console/`,
      send: async (key, path = "/orders") => {
        const answer = await fetch(gateway.addresses.listen + path, { method: "POST", headers: { "Idempotency-Key": `"${key}"` }, body: "x" });
        return [answer.status, await answer.text()];
      },
    });
    await gateway.stop();
    application.close();
  },
  service: async ({ dir }, use) => {
    const programs: Awaited<ReturnType<typeof start>>[] = [];
    await use({
      dir,
      console: async (...flags) => {
        const program = await start(process.env.SEMEL_TEST_BIN!, [
          "console", "--store", `sqlite:${join(dir, "semel.db")}`, "--listen", "127.0.0.1:0", "--admin-tokens-file", join(dir, "tokens"), ...flags,
        ]);
        programs.push(program);
        return program.addresses.listen!;
      },
    });
    for (const program of programs) await program.stop();
  },
});

/** Logs in with the keyboard alone. */
export async function logIn(page: Page, desk: Pick<Desk, "console">): Promise<void> {
  await page.goto(desk.console);
  await expect(page.getByLabel("Token")).toBeFocused();
  await page.keyboard.type(token);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Overview");
}

/** Moves the focus forwards until the element has it. */
export async function tabTo(page: Page, name: RegExp, role: "link" | "button" | "radio" | "textbox"): Promise<void> {
  const target = page.getByRole(role, { name }).first();
  for (let i = 0; i < 60; i++) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not reach the ${role} ${name}`);
}
