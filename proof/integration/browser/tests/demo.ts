import { type BrowserContext, type Locator, type Page, expect, test as base } from "@playwright/test";
import { start } from "./program.ts";

/** The copies of the application: as it is, with the script in its pages, behind the gateway; its page without forms, alone and behind the gateway. */
const copies = ["unprotected", "guarded", "protected", "scripts", "paged"] as const;
export type Copy = (typeof copies)[number];

/** What the demo's page says of one copy. */
export interface Side {
  requests: number;
  invoices: number;
  emails: number;
}

/** How the network of one copy is set, and what happened on it. */
export interface Network {
  condition: Condition;
  delay_ms: number;
  resent: number;
  under_way: number;
}

export type Condition = "normal" | "delay" | "lose-answer" | "drop-request" | "close-reused" | "lose-inside";

export interface State extends Record<Copy, Side> {
  networks: Record<Copy, Network>;
}

/** A running demo. */
export interface Demo extends Record<Copy, string> {
  page: string;
  console: string;
  state(): Promise<State>;
  network(copy: Copy, condition: Condition, delay?: number): Promise<void>;
}

/** How long the application takes to create something: long enough for a second click while the first is at work. */
const latency = "200ms";

/**
 * Each worker runs one demo, and each test finds it empty: a worker runs one test at a time. A test fails when a page
 * complains in the console.
 */
export const test = base.extend<{ demo: Demo; complaints: string[]; expected: RegExp[] }, { running: Demo }>({
  running: [
    async ({}, use) => {
      const program = await start(process.env.SEMEL_TEST_BIN ?? "semel", ["demo", "--listen", "127.0.0.1:0", "--latency", latency]);
      await use(client(program.addresses));
      await program.stop();
    },
    { scope: "worker" },
  ],
  demo: async ({ running }, use) => {
    for (const copy of copies) await idle(running, copy);
    await fetch(`${running.page}/reset`, { method: "POST" });
    await use(running);
  },
  // Complaints that belong to what the test does; tests that break the network add theirs.
  expected: async ({}, use) => use([]),
  complaints: [
    async ({ context, expected }, use) => {
      const complaints: string[] = [];
      listen(context, complaints);
      await use(complaints);
      expect(complaints.filter((text) => !expected.some((e) => e.test(text))), "the console is silent").toEqual([]);
    },
    { auto: true },
  ],
});

/** Notes what pages complain of. */
export function listen(context: BrowserContext, complaints: string[]): void {
  context.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  context.on("weberror", (error) => complaints.push(String(error.error())));
}

function client(addresses: Record<string, string>): Demo {
  const at = (name: string) => addresses[name]!;
  return {
    page: at("page"),
    console: at("console"),
    unprotected: at("unprotected"),
    guarded: at("guarded"),
    protected: at("protected"),
    scripts: at("scripts"),
    paged: at("paged"),
    state: async () => (await fetch(`${at("page")}/state`)).json() as Promise<State>,
    network: async (copy, condition, delay = 0) => {
      const body = new URLSearchParams({ copy, condition, delay_ms: String(delay) });
      const answer = await fetch(`${at("page")}/network`, { method: "POST", body, redirect: "manual" });
      expect(answer.status, "the network was set").toBe(303);
    },
  };
}

/** Fills the invoice form as a person would, without sending it. */
export async function fill(page: Page, note: string, amount = "1250.50"): Promise<void> {
  await page.getByLabel("Customer").selectOption({ index: 1 });
  await page.getByLabel("Amount").fill(amount);
  await page.getByLabel("Note").fill(note);
}

/** The button that sends the form. */
export function button(page: Page): Locator {
  return page.getByRole("button", { name: "Create invoice" });
}

/** Opens the form of one copy and fills it in. */
export async function open(page: Page, demo: Demo, copy: Copy, note: string): Promise<void> {
  await page.goto(`${demo[copy]}/invoices/new`);
  await fill(page, note);
}

/** Expects the person to see an invoice, and returns its address. */
export async function landed(page: Page, number?: number): Promise<string> {
  await expect(page).toHaveURL(number === undefined ? /\/invoices\/\d+$/ : new RegExp(`/invoices/${number}$`));
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Invoice INV-");
  return page.url();
}

/** Waits until so many requests have come to one copy. */
export async function requests(demo: Demo, copy: Copy, count: number): Promise<void> {
  await expect.poll(async () => (await demo.state())[copy].requests, { intervals: [20] }).toBe(count);
}

/** Waits until nothing is under way to one copy, so that no row can come any more. */
export async function idle(demo: Demo, copy: Copy): Promise<void> {
  await expect.poll(async () => (await demo.state()).networks[copy].under_way, { intervals: [20, 50] }).toBe(0);
}

/** Expects one copy to have so many invoices, each with its e-mail, when nothing is under way any more. */
export async function invoices(demo: Demo, copy: Copy, count: number): Promise<void> {
  await idle(demo, copy);
  const { invoices, emails } = (await demo.state())[copy];
  expect({ invoices, emails }).toEqual({ invoices: count, emails: count });
}

export { expect };
