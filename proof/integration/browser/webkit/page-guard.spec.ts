import { mergeTests } from "@playwright/test";
import type { Origin, WebDriver, WebElement } from "selenium-webdriver";
import { cases, furnish, type Person } from "../tests/page-core.ts";
import { shops } from "../tests/page-guard.ts";
import { By, expect, test as browsers } from "./webkit.ts";

const test = mergeTests(browsers, shops);

function personOf(driver: WebDriver): Person {
  const ready = () => expect.poll(() => driver.findElements(By.css("#ready")).then((all) => all.length, () => 0)).toBe(1);
  return {
    visit: async (url) => {
      await driver.get(url);
      if (!url.endsWith("/bare")) await ready();
    },
    press: async (times = 1) => {
      const button = await driver.findElement(By.css("button"));
      const actions = driver.actions({ async: true }).move({ origin: button, x: 0, y: 0 } as { origin: WebElement | Origin });
      for (let n = 0; n < times; n++) actions.click();
      await actions.perform();
    },
    back: async () => {
      await driver.navigate().back();
      await expect.poll(() => driver.getCurrentUrl().then((url) => new URL(url).pathname, () => "")).toBe("/");
      await ready();
    },
    answers: () => driver.executeScript<string>("return JSON.stringify(answers)").catch(() => ""),
  };
}

for (const sender of ["fetch", "XHR"] as const) {
  for (const [name, act] of Object.entries(cases)) {
    test(`a page without forms: ${name}, by ${sender}`, async ({ person, shop }) => {
      furnish(shop, sender);
      const someone = personOf(person);
      await someone.visit(shop.url);
      const orders = await act(someone, shop);
      expect(shop.effects).toHaveLength(orders);
    });
  }
}
