import { invoices } from "../tests/demo.ts";
import type { WebDriver } from "selenium-webdriver";
import { By, expect, Key, test, text } from "./webkit.ts";

/** Moves the focus forwards until the element has it. */
async function tabTo(person: WebDriver, selector: string): Promise<void> {
  for (let i = 0; i < 80; i++) {
    if (await person.executeScript("return document.activeElement?.matches(arguments[0]) ?? false", selector)) return;
    await person.actions().sendKeys(Key.TAB).perform();
  }
  throw new Error(`Tab does not reach ${selector}`);
}

test("the story of the demo: an answer is lost, and settled in the console", async ({ person, demo }) => {
  const send = () =>
    fetch(`${demo.protected}/api/invoices`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "Idempotency-Key": "lost" },
      body: JSON.stringify({ customer_id: 1, amount_cents: 4200, currency: "EUR" }),
    });
  await demo.network("protected", "lose-inside");
  expect((await send()).status).toBe(502);
  await demo.network("protected", "normal");
  expect((await send()).status).toBe(409);

  const follow = async (selector: string, says: string) => {
    await tabTo(person, selector);
    await person.actions().sendKeys(Key.ENTER).perform();
    await expect.poll(() => text(person, "main")).toContain(says);
  };
  await person.get(demo.page);
  const token = await text(person, "code.token");
  await person.get(demo.console);
  const field = await person.findElement(By.css("input[type=password], input[name=token]"));
  await field.sendKeys(token, Key.ENTER);
  await expect.poll(() => text(person, "main")).toContain("1 request needs you");
  await expect
    .poll(async () => {
      await person.navigate().refresh(); // the event stream is tried in Chromium: here it is not always heard
      await person.findElement(By.css("summary")).click();
      return text(person, "[data-live=unknown]");
    })
    .toBe("2");
  await follow("a.more[href='/console/unknown']", "Each of these may have happened or not");
  await follow("tbody a", "Attempt 1, with fence");
  await person.findElement(By.css("[name=as]")).click();
  for (const [name, words] of [["reason", "it is in the list"], ["status", "201"], ["body", '{"id":1}']] as const) {
    await person.findElement(By.css(`[name=${name}]`)).sendKeys(words);
  }
  await follow("form.verdict button", "The verdict was taken.");
  const again = await send();
  expect([again.status, await again.text()]).toEqual([201, '{"id":1}']);
  await invoices(demo, "protected", 1);
});
