import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, type Page, expect, test as base } from "@playwright/test";
import { type Program, start } from "./program.ts";

export interface Order {
  number: number;
  id: string;
  customer: string;
}

export interface Line {
  order: string;
  item: string;
}

/** What the switch for faults takes. */
export interface Fault {
  mode: "" | "delay" | "lose-answer" | "drop-before" | "status-503" | "close-after-read";
  ms?: number;
  count: number;
}

/** A running shop, which can be stopped and started again at the same address with the same database. */
export interface Shop {
  home: string;
  orders(): Promise<Order[]>;
  lines(): Promise<Line[]>;
  /** Sets what happens to the next POST requests. */
  fault(fault: Fault): Promise<void>;
  /** Holds the next POST request, before it is handled, until it is released. */
  hold(): Promise<void>;
  release(): Promise<void>;
  /** How many POST requests came since it was started. */
  requests(): Promise<number>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

function startShop(dir: string, listen: string): Promise<Program> {
  return start(process.env.SEMEL_TEST_SHOP ?? "shop", ["-listen", listen, "-dir", dir]);
}

export const test = base.extend<{ shop: Shop }>({
  shop: async ({}, use) => {
    const dir = mkdtempSync(join(tmpdir(), "semel-shop-"));
    let program: Program | undefined = await startShop(dir, "127.48.0.1:0"); // no connection of another test takes its port while it is stopped
    const home = program.addresses.page!;
    const json = async (path: string) => (await fetch(home + path)).json();
    const fault = async (set: Fault) => expect((await fetch(`${home}/faults`, { method: "POST", body: JSON.stringify(set) })).status).toBe(200);
    const release = () => fault({ mode: "", count: 0 });
    const stop = async () => {
      if (!program) return;
      await release(); // or it would wait for what is held
      await program.stop();
      program = undefined;
    };
    await use({
      home, stop, fault, release,
      hold: () => fault({ mode: "delay", ms: 60_000, count: 1 }),
      start: async () => void (program = await startShop(dir, new URL(home).host)),
      orders: async () => (await json("/api/orders")).orders,
      lines: async () => (await json("/api/lines")).lines,
      requests: async () => (await json("/faults")).requests,
    });
    await stop();
    rmSync(dir, { recursive: true, force: true });
  },
});

/** Opens the page for orders without a network; with worker, once its service worker has the page. */
export async function open(page: Page, shop: Shop, { worker = false, query = "" } = {}): Promise<void> {
  await page.goto(`${shop.home}/offline.html${query}`);
  if (!worker) return;
  await page.evaluate(async () => {
    await navigator.serviceWorker.ready;
    if (!navigator.serviceWorker.controller) {
      await new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve, { once: true }));
    }
  });
}

/** Fills the form and sends it as a person would; resolves when the page says that it is kept. */
export async function order(page: Page, customer: string, item = ""): Promise<void> {
  await page.getByLabel("Customer").fill(customer);
  await page.getByLabel("Item").fill(item);
  await page.getByRole("button", { name: "Order", exact: true }).click();
  await expect(page.locator("#kept")).toHaveText(`Kept: the order for ${customer}.`);
}

/** The status of the queue, as a person hears it. */
export function status(page: Page) {
  return page.locator("semel-queue-status").getByRole("status");
}

/** Waits until the shop has these orders, in this order, and these lines; timeout is in milliseconds. */
export async function rows(shop: Shop, customers: string[], items: string[] = [], timeout = 60_000): Promise<void> {
  await expect.poll(async () => ({
    customers: (await shop.orders()).map(({ customer }) => customer),
    items: (await shop.lines()).map(({ item }) => item),
  }), { timeout }).toEqual({ customers, items });
}

/** Takes the network away from every page of a context, and gives it back. */
export async function offline(context: BrowserContext, yes: boolean): Promise<void> {
  await context.setOffline(yes);
}

export { expect };
