import { invoices, requests } from "../tests/demo.ts";
import { back, expect, fill, landed, middle, notices, open, press, test } from "./firefox.ts";

// What the table of ways (ways.ts) does not look at: how much is sent, and what the pages say.

test("Back, and the same again: the person is told that it had been done", async ({ person, demo }) => {
  const page = await open(person, demo, "protected", "back");
  await press(page);
  await landed(page, 1);
  await back(page);
  await fill(page, "back");
  await press(page);
  await landed(page, 1);
  expect(await notices(page)).toBe(1);
  await invoices(demo, "protected", 1);
});

test("the script alone sends a double click once", async ({ person, demo }) => {
  await demo.network("guarded", "delay", 500);
  const page = await open(person, demo, "guarded", "double click");
  const [x, y] = await middle(page);
  for (let i = 0; i < 3; i++) await page.mouse.click(x, y);
  await landed(page, 1);
  await requests(demo, "guarded", 1);
  await invoices(demo, "guarded", 1);
});

test("a page out of the back/forward cache can be used again", async ({ person, demo }) => {
  const page = await open(person, demo, "guarded", "cached");
  await page.evaluate(() => addEventListener("pageshow", (event) => (document.title = `persisted ${event.persisted}`)));
  await press(page);
  await landed(page, 1);
  await back(page);
  await expect.poll(() => page.title(), "the page comes out of the cache").toBe("persisted true");
  await fill(page, "cached", "75.00");
  await press(page);
  await landed(page, 2);
  await invoices(demo, "guarded", 2);
});
