import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Builder, By, Key, Origin, type WebDriver, type WebElement } from "selenium-webdriver";
import { type Copy, type Demo, expect, test as base } from "../tests/demo.ts";
import { end, openScreen, running } from "../tests/screen.ts";

/** A window of a browser of its own for every test, with scripts or without. */
export const test = base.extend<{ person: WebDriver }, { scripts: boolean; display: string; driver: string }>({
  scripts: [true, { option: true, scope: "worker" }],
  display: [
    async ({}, use) => {
      const [screen, display] = await openScreen();
      await use(display);
      await end(screen);
    },
    { scope: "worker" },
  ],
  driver: [
    async ({ display }, use) => {
      const home = mkdtempSync(join(tmpdir(), "semel-webkit-"));
      const port = String(await free());
      const [driver] = await running("WebKitWebDriver", [`--port=${port}`], {
        DISPLAY: display, HOME: home, XDG_RUNTIME_DIR: home, LIBGL_ALWAYS_SOFTWARE: "1", NO_AT_BRIDGE: "1", GTK_A11Y: "none",
        WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1", // it needs what a container or root does not have; the pages are ours
      });
      const address = `http://127.0.0.1:${port}`;
      await expect.poll(() => fetch(`${address}/status`).then((answer) => answer.ok, () => false)).toBe(true);
      await use(address);
      await end(driver);
      rmSync(home, { recursive: true, force: true });
    },
    { scope: "worker" },
  ],
  person: async ({ driver, scripts }, use) => {
    const args = ["--automation", `--enable-javascript=${scripts}`];
    const person = await new Builder().usingServer(driver).withCapabilities({ browserName: "MiniBrowser", "webkitgtk:browserOptions": { binary: binary(), args } }).build();
    await use(person);
    await person.quit();
  },
  complaints: [async ({}, use) => use([]), { auto: true }], // those of Chromium
});

/** Where Debian puts WebKit's browser. */
export function binary(): string {
  const found = readdirSync("/usr/lib").flatMap((dir) => ["4.1", "4.0"].map((api) => `/usr/lib/${dir}/webkit2gtk-${api}/MiniBrowser`)).find((path) => existsSync(path));
  if (!found) throw new Error("MiniBrowser is missing (apt-get install webkit2gtk-driver)");
  return found;
}

async function free(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

/** Opens the form of one copy and fills it in. */
export async function open(person: WebDriver, demo: Demo, copy: Copy, note: string): Promise<void> {
  await person.get(`${demo[copy]}/invoices/new`);
  await fill(person, note);
}

/** Fills the form by the keyboard, over what is in it. */
export async function fill(person: WebDriver, note: string, amount = "1250.50"): Promise<void> {
  await person.findElement(By.css("select")).sendKeys(Key.HOME, Key.ARROW_DOWN);
  for (const [field, text] of [["#amount", amount], ["#note", note]] as const) {
    const input = await person.findElement(By.css(field));
    await input.clear();
    await input.sendKeys(text);
  }
}

/** The button that sends the form. */
export function button(person: WebDriver): Promise<WebElement> {
  return Promise.resolve(person.findElement(By.css("form button[type=submit]")));
}

/** Presses the button as often as that, each time as a click at its place, which waits for nothing. */
export async function press(person: WebDriver, times = 1): Promise<void> {
  const actions = person.actions({ async: true }).move({ origin: await button(person), x: 0, y: 0 } as { origin: WebElement | Origin });
  for (let i = 0; i < times; i++) actions.click();
  await actions.perform();
}

/** The text of the first element that matches; "" while there is none, such as between two pages. */
export async function text(person: WebDriver, selector: string): Promise<string> {
  try {
    return await person.findElement(By.css(selector)).getText();
  } catch {
    return "";
  }
}

/** Expects the person to see an invoice: this one, or any. */
export async function landed(person: WebDriver, number?: number): Promise<void> {
  await expect.poll(() => person.getCurrentUrl()).toMatch(number === undefined ? /\/invoices\/\d+$/ : new RegExp(`/invoices/${number}$`));
  await expect.poll(() => text(person, "h1")).toContain("Invoice INV-");
}

export { By, expect, Key };
