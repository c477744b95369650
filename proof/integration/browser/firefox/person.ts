import type { Page } from "puppeteer-core";
import { wishes } from "../tests/cells.ts";
import type { Person, Tab, Wishes } from "../tests/wishes.ts";
import { test as base } from "./firefox.ts";

/** Firefox prints without a preview, and sends again without a question: the driver cannot close either. It has a screen for fingers. */
export const preferences = {
  "dom.confirm_repost.testing.always_accept": true, "dom.w3c_touch_events.enabled": 1, "print.always_print_silent": true, "print_printer": "Mozilla Save to PDF",
  "print.printer_Mozilla_Save_to_PDF.print_to_filename": "/dev/null",
};

/** A person of the table of ways in Firefox. */
export const test = base.extend<{ someone: Person }, { wishes: Wishes }>({
  ...wishes,
  someone: async ({ person }, use) => {
    const own = new Set<Page>();
    await use({
      tab: async () => {
        const page = await person.newPage();
        own.add(page);
        return tabOf(page);
      },
      opened: async () => (await person.pages()).filter((page) => !own.has(page)).map(tabOf),
    });
  },
});

function tabOf(page: Page): Tab {
  const quietly = async (what: Promise<unknown>) => void what.catch(() => {}); // no caller waits for it
  return {
    open: async (url) => void (await page.goto(url)),
    address: (url) => quietly(page.goto(url)),
    click: async (x, y, { keys = [], middle, gaps = [], drift = 0 } = {}) => {
      for (const key of keys) await page.keyboard.down(key);
      const button = middle ? "middle" : "left";
      for (const [index, gap] of [0, ...gaps].entries()) {
        if (gap) await new Promise((go) => setTimeout(go, gap)); // the person's pace
        const press = async () => {
          await page.mouse.move(x + index * drift, y);
          for (const act of ["down", "up"] as const) await page.mouse[act]({ button, clickCount: index + 1 });
        };
        await press().catch((error: unknown) => {
          if (index === 0) throw error; // later ones may find the page gone
        });
      }
      for (const key of keys) await page.keyboard.up(key);
    },
    press: async (...keys) => {
      for (const key of keys) await page.keyboard.press(key as "Enter");
    },
    tap: (x, y) => page.touchscreen.tap(x, y),
    back: () => quietly(page.goBack()),
    forward: () => quietly(page.goForward()),
    reload: () => quietly(page.reload()),
    title: () => page.title(),
    text: () => page.evaluate("document.body.innerText") as Promise<string>,
    run: (script) => page.evaluate(script),
  };
}
