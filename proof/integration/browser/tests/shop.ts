import { type BrowserContext, type Locator, type Page, expect, test as base } from "@playwright/test";
import { start } from "./program.ts";

/** What happens to the next requests of the shop. */
export interface Fault {
  mode: "" | "delay" | "lose-answer" | "drop-before" | "status-503" | "close-after-read";
  ms?: number;
  count?: number;
}

/** A shop with a database of its own. */
export interface Shop {
  url: string;
  /** The orders in the database, the oldest first. */
  orders(): Promise<{ customer: string; note: string }[]>;
  /** How many POST requests came. */
  requests(): Promise<number>;
  fault(fault: Fault): Promise<void>;
}

/** What a person sees of the form, each time when it changes. */
export interface Sight {
  busy: boolean;
  /** What the form's live region says. */
  status: string;
  language: string;
  disabled: number;
  focus: string;
  /** The positions of everything but the live region. */
  boxes: string;
  animations: number;
}

/** Tells every sight to the console: while a page waits for the next one, the browser answers no questions about it. */
function watchForm(): void {
  const tell = (): void => {
    const form = document.querySelector("form");
    if (!form) return;
    const status = form.querySelector<HTMLElement>("[role=status]");
    const others = document.querySelectorAll("h1, p, label, input:not([type=hidden]), button, a");
    const sight: Sight = {
      busy: form.getAttribute("aria-busy") === "true",
      status: status?.textContent ?? "",
      language: status?.lang ?? "",
      disabled: form.querySelectorAll("[aria-disabled=true]").length,
      focus: document.activeElement?.textContent ?? "",
      boxes: Array.from(others, (each) => Object.values(each.getBoundingClientRect().toJSON()).join()).join(" "),
      animations: document.getAnimations().length,
    };
    console.debug("sight " + JSON.stringify(sight));
  };
  new MutationObserver(tell).observe(document, { subtree: true, attributes: true, childList: true, attributeFilter: ["aria-busy"] });
}

/** Tests get a shop of their own, and fail when a page complains in the console. */
export const test = base.extend<{ shop: Shop; complaints: string[]; sights: Sight[]; tolerated: RegExp }>({
  tolerated: [/(?!)/, { option: true }],
  shop: async ({}, use) => {
    const program = await start(process.env.SEMEL_TEST_SHOP ?? "shop", ["-listen", "127.0.0.1:0", "-assets", process.env.SEMEL_TEST_EXAMPLES ?? ""]);
    const url = program.addresses.page!;
    const json = async (path: string) => (await fetch(url + path)).json();
    await use({
      url,
      orders: async () => (await json("/api/orders")).orders,
      requests: async () => (await json("/faults")).requests,
      fault: async (fault) => {
        const answer = await fetch(url + "/faults", { method: "POST", body: JSON.stringify(fault) });
        expect(answer.status).toBe(200);
      },
    });
    await program.stop();
  },
  sights: [
    async ({ context }, use) => {
      const sights: Sight[] = [];
      context.on("console", (message) => {
        const [word, text] = message.text().split(/ (.*)/);
        if (word === "sight") sights.push(JSON.parse(text!));
      });
      await context.addInitScript(watchForm);
      await use(sights);
    },
    { auto: true },
  ],
  complaints: [
    async ({ context, shop: _, tolerated }, use) => {
      const complaints: string[] = [];
      context.on("console", (message) => {
        const text = message.text();
        if (!/^(error|warning)$/.test(message.type()) || tolerated.test(text)) return;
        complaints.push(text);
      });
      context.on("weberror", (error) => complaints.push(String(error.error())));
      await use(complaints);
      expect(complaints, "the console is silent").toEqual([]);
    },
    { auto: true },
  ],
});

/** Gives the order page's form other attributes or content before it reaches the browser. */
export async function edit(context: BrowserContext, change: (html: string) => string): Promise<void> {
  await context.route("**/form.html*", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: change(await response.text()) });
  });
}

export async function open(page: Page, shop: Shop, note = "one"): Promise<void> {
  await page.goto(`${shop.url}/form.html`);
  await fill(page, note);
}

export async function fill(page: Page, note: string): Promise<void> {
  await page.getByLabel("Customer").fill("Ada");
  await page.getByLabel("Note").fill(note);
}

export const button = (page: Page): Locator => page.getByRole("button", { name: "Place order" });

/** The key in the form. */
export async function keyIn(page: Page): Promise<string> {
  return page.locator("input[name=semel_key]").inputValue();
}

/** Waits until the form is seen locked, or unlocked. */
export async function locked(sights: Sight[], is = true): Promise<void> {
  await expect.poll(() => sights.at(-1)?.busy).toBe(is);
}

/** Waits until the shop has so many orders, with these notes. */
export async function notes(shop: Shop, ...want: string[]): Promise<void> {
  await expect.poll(async () => (await shop.orders()).map((order) => order.note)).toEqual(want);
}

export { expect };
