import type { CDPSession, Page } from "@playwright/test";
import type { Tab } from "./wishes.ts";

/** A tab of Chromium. What Playwright would wait for is asked of the browser itself. */
export async function tabOf(page: Page): Promise<Tab> {
  let devtools: Promise<CDPSession> | undefined;
  const ask = () => (devtools ??= page.context().newCDPSession(page));
  // Playwright's own would wait for the page that is under way.
  const evaluate = async (expression: string): Promise<unknown> => {
    const { result, exceptionDetails } = await (await ask()).send("Runtime.evaluate", { expression, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  const move = async (by: number) => {
    const { currentIndex, entries } = await (await ask()).send("Page.getNavigationHistory");
    await (await ask()).send("Page.navigateToHistoryEntry", { entryId: entries[currentIndex + by]!.id });
  };
  return {
    open: async (url) => void (await page.goto(url)),
    address: async (url) => void (await ask()).send("Page.navigate", { url, transitionType: "address_bar" }).catch(() => {}),
    click: async (x, y, { keys = [], middle, gaps = [], drift = 0 } = {}) => {
      for (const key of keys) await page.keyboard.down(key);
      const button = middle ? "middle" : "left";
      for (const [index, gap] of [0, ...gaps].entries()) {
        await page.mouse.move(x + index * drift, y);
        if (gap) await page.waitForTimeout(gap); // the person's pace
        for (const act of ["down", "up"] as const) await page.mouse[act]({ button, clickCount: index + 1 });
      }
      for (const key of keys) await page.keyboard.up(key);
    },
    press: async (...keys) => {
      for (const key of keys) await page.keyboard.press(key);
    },
    tap: (x, y) => page.touchscreen.tap(x, y),
    back: () => move(-1),
    forward: () => move(1),
    reload: async () => void (await (await ask()).send("Page.reload")),
    title: async () => String(await evaluate("document.title")),
    text: async () => String(await evaluate("document.body.innerText")),
    run: evaluate,
  };
}
