import type { Browser, Page } from "@playwright/test";
import { expect } from "./demo.ts";

/**
 * A tab whose renderer was killed. Playwright gives such a page up; the browser does not, and neither does a person,
 * who presses the reload key.
 */
export class CrashedTab {
  #answers = new Map<number, { result?: { value?: unknown } }>();

  private constructor(
    private readonly send: (message: string) => Promise<unknown>,
  ) {}

  /** Kills the renderers of this browser, and with them the page's. */
  static async kill(browser: Browser, page: Page): Promise<CrashedTab> {
    const { targetInfo } = await (await page.context().newCDPSession(page)).send("Target.getTargetInfo");
    const devtools = await browser.newBrowserCDPSession();
    const crashed = page.waitForEvent("crash");
    const { processInfo } = await devtools.send("SystemInfo.getProcessInfo");
    for (const { type, id } of processInfo) if (type === "renderer") process.kill(id, "SIGKILL");
    await crashed;
    const { sessionId } = await devtools.send("Target.attachToTarget", { targetId: targetInfo.targetId, flatten: false });
    const tab = new CrashedTab((message) => devtools.send("Target.sendMessageToTarget", { sessionId, message }));
    devtools.on("Target.receivedMessageFromTarget", ({ message }) => {
      const { id, result } = JSON.parse(message);
      tab.#answers.set(id, result);
    });
    return tab;
  }

  #calls = 0;

  async #call(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#calls;
    await this.send(JSON.stringify({ id, method, params }));
    await expect.poll(() => this.#answers.has(id), { intervals: [10] }).toBe(true);
    return this.#answers.get(id)?.result?.value;
  }

  /** What the expression is in the tab's page. */
  evaluate(expression: string): Promise<unknown> {
    return this.#call("Runtime.evaluate", { expression });
  }

  /** Waits until the expression has this value in the tab's page. */
  async expect(expression: string, value: unknown): Promise<void> {
    await expect.poll(() => this.evaluate(expression), { intervals: [50] }).toEqual(value);
  }

  async reload(): Promise<void> {
    await this.#call("Page.reload");
    await this.expect("document.readyState", "complete");
  }
}
