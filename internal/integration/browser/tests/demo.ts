import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Page, expect, test as base } from "@playwright/test";

/** What the demo's page says of one copy. */
export interface Side {
  requests: number;
  invoices: number;
  emails: number;
}

/** The addresses of a running demo. */
export interface Demo {
  page: string;
  unprotected: string;
  protected: string;
  state(): Promise<{ unprotected: Side; protected: Side }>;
}

/** How long the application takes to create something: long enough for a second click while the first is at work. */
const latency = "1500ms";

/** Tests get a demo of their own, and fail when a page complains in the console. */
export const test = base.extend<{ demo: Demo; complaints: string[] }>({
  demo: async ({}, use) => {
    const dir = mkdtempSync(join(tmpdir(), "semel-demo-ready-"));
    const ready = join(dir, "ready");
    const args = ["demo", "--listen", "127.0.0.1:0", "--latency", latency, "--ready-file", ready];
    const child = spawn(process.env.SEMEL_BIN ?? "semel", args, { stdio: ["ignore", "ignore", "inherit"] });
    const addresses = await whenReady(child, ready);
    await use({
      page: addresses.page,
      unprotected: addresses.unprotected,
      protected: addresses.protected,
      state: async () => (await fetch(`${addresses.page}/state`)).json(),
    });
    child.kill("SIGINT");
    if (child.exitCode === null) await once(child, "exit");
    rmSync(dir, { recursive: true, force: true });
    expect(child.exitCode, "the demo ends in order").toBe(0);
  },
  complaints: [
    async ({ context, demo: _ }, use) => { // checked before the demo ends
      const complaints: string[] = [];
      context.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
      });
      context.on("weberror", (error) => complaints.push(String(error.error())));
      await use(complaints);
      expect(complaints, "the console is silent").toEqual([]);
    },
    { auto: true },
  ],
});

async function whenReady(child: ChildProcess, file: string): Promise<Record<string, string>> {
  let text = "";
  await expect
    .poll(() => {
      if (child.exitCode !== null) throw new Error(`semel demo ended with exit code ${child.exitCode}`);
      try {
        text = readFileSync(file, "utf8");
      } catch {
        return false; // not there yet
      }
      return true;
    })
    .toBe(true);
  return Object.fromEntries(text.trim().split("\n").map((line) => line.split(/=(.*)/).slice(0, 2)));
}

/** Fills the invoice form as a person would, without sending it. */
export async function fill(page: Page, note: string): Promise<void> {
  await page.getByLabel("Customer").selectOption({ index: 1 });
  await page.getByLabel("Amount").fill("1250.50");
  await page.getByLabel("Note").fill(note);
}

/** Waits until so many requests have come to one copy. */
export async function requests(demo: Demo, side: "unprotected" | "protected", count: number): Promise<void> {
  await expect.poll(async () => (await demo.state())[side].requests, { intervals: [20] }).toBe(count);
}

/** Waits until one copy has so many invoices, each with its e-mail. */
export async function invoices(demo: Demo, side: "unprotected" | "protected", count: number): Promise<void> {
  await expect.poll(async () => {
    const { invoices, emails } = (await demo.state())[side];
    return { invoices, emails };
  }).toEqual({ invoices: count, emails: count });
}

export { expect };
