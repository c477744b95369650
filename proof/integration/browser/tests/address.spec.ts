import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type BrowserContext, chromium, expect } from "@playwright/test";
import { end, openScreen } from "./screen.ts";
import { test as base } from "./site.ts";
import { tabOf } from "./tab.ts";
import { ways } from "./ways.ts";
import { type Door, type Tab, Wishes } from "./wishes.ts";

// The browser's own address bar: what the DevTools protocol calls a navigation from there tells the page other things than keys that
// a person presses.

const run = promisify(execFile);

/** Types an address into the window that has the focus. */
type Type = (url: string) => Promise<void>;

const test = base.extend<{ person: { browser: BrowserContext; type: Type } }, { display: string; wishes: Wishes }>({
  display: [
    async ({}, use) => {
      const [screen, display] = await openScreen();
      await use(display);
      await end(screen);
    },
    { scope: "worker" },
  ],
  wishes: [
    async ({}, use) => {
      const wishes = await Wishes.start();
      await use(wishes);
      await wishes.stop();
    },
    { scope: "worker" },
  ],
  person: async ({ display, launchOptions }, use) => {
    const env = { ...process.env, DISPLAY: display };
    const browser = await chromium.launchPersistentContext("", { ...launchOptions, env, headless: false, viewport: null });
    const xdotool = async (...words: string[]) => void (await run("xdotool", words, { env }));
    const type = async (url: string) => {
      await xdotool("mousemove", "400", "62", "click", "1"); // in the bar at once: keys wait until the page has seen them
      await xdotool("type", "--delay", "5", url.replace(/^http:\/\//, ""));
      await xdotool("key", "Return");
    };
    await use({ browser, type });
    await browser.close();
  },
});

test.describe("while the answer is on its way", { tag: "@whole" }, () => {
  const way = ways.find(({ name }) => name === "the form by the address bar")!;
  for (const door of ["gateway", "library"] satisfies Door[]) {
    test(`${door}: the form is opened by the address bar and sent again`, async ({ person, wishes }) => {
      const tab = async (): Promise<Tab> => ({ ...(await tabOf(person.browser.pages()[0]!)), address: person.type });
      await wishes.try(way, door, ["chromium"], { tab, opened: async () => [] });
    });
  }

  for (const [how, told] of [["its page", false], ["the cookie of the outcome", true]] as const) {
    test(`a key of the script, whose end ${how} tells`, async ({ person, site }) => {
      let release = (): void => undefined;
      const gate = new Promise<void>((resolve) => (release = resolve));
      site.page = '<form method="post" action="/save" data-semel><input name="item" value="tea"><button>Save</button></form>';
      site.answer = async ({ fields }, response) => {
        if (site.arrived.length === 1) await gate;
        if (told) response.setHeader("Set-Cookie", `semel_outcome=${new Map(fields).get("semel_key")}:executed:303; Path=/; SameSite=Lax`);
        response.writeHead(303, { Location: "/done" }).end();
      };
      const page = person.browser.pages()[0]!;
      await page.goto(site.url);
      const send = () => page.getByRole("button").click({ noWaitAfter: true });
      await send();
      await expect.poll(() => site.arrived.length).toBe(1);
      const opened = page.waitForEvent("domcontentloaded");
      await person.type(site.url);
      await opened;
      release();
      await send();
      await expect(page).toHaveURL(/done$/);
      expect(site.arrived).toHaveLength(2);
      expect(site.arrived[1]!.fields, "the same key").toEqual(site.arrived[0]!.fields);
      await page.goto(site.url);
      await send();
      await expect(page).toHaveURL(/done$/);
      expect(site.arrived).toHaveLength(3);
      expect(site.arrived[2]!.fields, "another wish").not.toEqual(site.arrived[0]!.fields);
    });
  }
});
