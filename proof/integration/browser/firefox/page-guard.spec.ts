import { mergeTests } from "@playwright/test";
import type { BrowserContext } from "puppeteer-core";
import { cases, furnish, type Person } from "../tests/page-core.ts";
import { shops } from "../tests/page-guard.ts";
import { expect, test as browsers } from "./firefox.ts";

const test = mergeTests(browsers, shops);

async function personOf(context: BrowserContext): Promise<Person> {
  const page = await context.newPage();
  const ready = () => expect.poll(() => page.$("#ready").catch(() => null)).not.toBeNull();
  return {
    visit: async (url) => {
      await page.goto(url);
      if (!url.endsWith("/bare")) await ready();
    },
    press: async (times = 1) => {
      const { x, y, width, height } = (await (await page.$("button"))!.boundingBox())!;
      await page.mouse.click(x + width / 2, y + height / 2, { count: times });
    },
    back: async () => {
      await page.evaluate(() => history.back());
      await expect.poll(() => page.evaluate(() => location.pathname).catch(() => "")).toBe("/");
      await ready();
    },
    answers: () => page.evaluate("JSON.stringify(answers)").catch(() => "") as Promise<string>,
  };
}

for (const sender of ["fetch", "XHR"] as const) {
  for (const [name, act] of Object.entries(cases)) {
    test(`a page without forms: ${name}, by ${sender}`, async ({ person, shop }) => {
      furnish(shop, sender);
      const someone = await personOf(person);
      await someone.visit(shop.url);
      const orders = await act(someone, shop);
      expect(shop.effects).toHaveLength(orders);
    });
  }
}
