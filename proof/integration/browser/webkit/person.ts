import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Builder, Button, Key, type WebDriver } from "selenium-webdriver";
import { wishes } from "../tests/cells.ts";
import type { Person, Tab, Wishes } from "../tests/wishes.ts";
import { binary, expect, test as base } from "./webkit.ts";

/**
 * A person of the table of ways in WebKit, with one browser for all ways: starting one takes longer than a way. Its commands wait for no page, which a
 * test may hold back.
 */
export const test = base.extend<{ someone: Person }, { wishes: Wishes; minibrowser: WebDriver }>({
  ...wishes,
  minibrowser: [
    async ({ driver, scripts }, use) => {
      const options = { binary: binary(), args: ["--automation", `--enable-javascript=${scripts}`] };
      const browser = await new Builder().usingServer(driver).withCapabilities({ browserName: "MiniBrowser", pageLoadStrategy: "none", "webkitgtk:browserOptions": options }).build();
      await use(browser);
      await browser.quit();
    },
    { scope: "worker" },
  ],
  someone: async ({ minibrowser: browser, display }, use) => {
    const hand: Hand = async (...words) => {
      const alone = (await browser.getAllWindowHandles()).length === 1;
      if (alone) await execute("xdotool", words, { env: { ...process.env, DISPLAY: display } });
      return alone;
    };
    const [home] = await browser.getAllWindowHandles();
    const own = new Set<string>();
    await browser.switchTo().window(home!);
    await browser.manage().deleteAllCookies();
    await use({
      tab: async () => { // opening a window takes seconds, so the first one is there already
        if (own.size > 0) await browser.switchTo().newWindow("window");
        const handle = own.size > 0 ? await browser.getWindowHandle() : home!;
        own.add(handle);
        return tabOf(browser, handle, hand);
      },
      opened: async () => (await browser.getAllWindowHandles()).filter((handle) => !own.has(handle)).map((handle) => tabOf(browser, handle, hand)),
    });
    for (const handle of await browser.getAllWindowHandles()) {
      if (handle === home) continue;
      await browser.switchTo().window(handle);
      await browser.close();
    }
  },
});

const keys: Record<string, string> = { Enter: Key.ENTER, Tab: Key.TAB, Escape: Key.ESCAPE, Backspace: Key.BACK_SPACE, Control: Key.CONTROL, Shift: Key.SHIFT };

/** What xdotool calls keys. */
const names: Record<string, string> = { Enter: "Return", Backspace: "BackSpace", " ": "space" };

const execute = promisify(execFile);

/** Uses the mouse or the keys of the display, if the browser has but one window: the driver's wait for the page that is under way. */
type Hand = (...words: string[]) => Promise<boolean>;

/** Waits for what the driver says of a page. It may never answer when the page goes away. */
function answered<T>(answer: Promise<T>): Promise<T> {
  return Promise.race([answer, new Promise<never>((_, lost) => setTimeout(lost, 3000, new Error("the driver does not answer")))]);
}

/** A window of the browser. A press in a second tab of a window never ends in this driver, so each tab has a window. */
function tabOf(browser: WebDriver, handle: string, hand: Hand): Tab {
  let [left, top] = [0, 0]; // where the page is on the display
  let aside = 0; // presses at one place soon after each other are a double click
  const ask = (expression: string) => at(() => answered(browser.executeScript(`return ${expression}`)));
  const run = (script: string) => ask(`eval(${JSON.stringify(script)})`); // a policy of the page may forbid it
  const at = async <T>(act: () => Promise<T>): Promise<T> => {
    await browser.switchTo().window(handle);
    return act();
  };
  const loaded = (url: string) => expect.poll(() => run("!window.left && document.readyState + location.href").catch(() => "")).toBe(`complete${url}`);
  const title = async () => {
    const [name, ...place] = (await ask("[document.title, screenX, screenY + outerHeight - innerHeight]")) as [string, number, number];
    [left, top] = place; // a bar for downloads may have come
    return name;
  };
  return {
    open: async (url) => {
      await run("window.left = true").catch(() => {});
      await at(() => browser.get(url));
      await loaded(url);
      await title();
    },
    address: (url) => at(() => browser.get(url)),
    click: (x, y, { keys: held = [], middle, gaps = [], drift = 0 } = {}) => at(async () => {
      x += aside = 8 - aside;
      const clicks = [0, ...gaps].flatMap((gap, index) => ["sleep", gap / 1000, "mousemove", left + x + index * drift, top + y, "click", middle ? 2 : 1].map(String));
      if (held.length === 0 && (await hand(...clicks))) return;
      const actions = browser.actions({ async: true });
      const button = middle ? Button.MIDDLE : Button.LEFT;
      for (const key of held) await browser.actions().keyDown(keys[key]!).perform();
      for (const [index, gap] of [0, ...gaps].entries()) {
        actions.move({ x: x + index * drift, y, duration: 0 });
        if (gap) actions.pause(gap, actions.mouse()); // the person's pace
        actions.press(button).release(button);
      }
      await actions.perform();
      for (const key of held) await browser.actions().keyUp(keys[key]!).perform();
    }),
    press: (...pressed) => at(async () => {
      if (await hand("key", "--delay", "0", ...pressed.map((key) => names[key] ?? key))) return;
      await browser.actions().sendKeys(...pressed.map((key) => keys[key] ?? key)).perform();
    }),
    tap: () => Promise.reject(new Error("this driver has no fingers")),
    back: () => at(() => browser.navigate().back()),
    forward: () => at(() => browser.navigate().forward()),
    reload: () => at(() => browser.navigate().refresh()),
    title,
    text: async () => String(await ask("document.body.innerText")),
    run,
  };
}
