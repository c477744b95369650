import type { Copy } from "../tests/demo.ts";
import { invoices, requests } from "../tests/demo.ts";
import { back, expect, fill, landed, middle, notices, open, press, test } from "./firefox.ts";

// Firefox sends a form as often as its button is pressed: it has no guard of its own.
const copies: { name: Copy; rows: (sent: number) => number }[] = [
  { name: "unprotected", rows: (sent) => sent },
  { name: "protected", rows: () => 1 },
];

for (const { name, rows } of copies) {
  test.describe(`the ${name} copy`, () => {
    test("a double click", async ({ person, demo }) => {
      await demo.network(name, "delay", 500);
      const page = await open(person, demo, name, "double click");
      const [x, y] = await middle(page);
      await page.mouse.click(x, y);
      await requests(demo, name, 1);
      await page.mouse.click(x, y);
      await landed(page);
      await invoices(demo, name, rows(2));
    });

    test("Enter three times, then a click", async ({ person, demo }) => {
      await demo.network(name, "delay", 800);
      const page = await open(person, demo, name, "three times Enter");
      const [x, y] = await middle(page);
      await page.focus("#amount");
      for (const sent of [1, 2, 3]) {
        await page.keyboard.press("Enter");
        await requests(demo, name, name === "unprotected" ? sent : 1);
      }
      await page.mouse.click(x, y);
      await landed(page);
      await invoices(demo, name, rows(4));
    });

    test("two tabs of one draft", async ({ person, demo }) => {
      const first = await open(person, demo, name, "two tabs");
      const cached = await first.content();
      const second = await person.newPage();
      await second.goto(`${demo[name]}/invoices`); // a page of the same site, which becomes what the first one is
      await second.setContent(cached.replace(/<script\b[^>]*><\/script>/g, ""));
      await fill(second, "two tabs");
      await demo.network(name, "delay", 500); // both are under way at once
      await Promise.all([press(first), press(second)]);
      await requests(demo, name, 2);
      for (const page of [first, second]) await landed(page, name === "protected" ? 1 : undefined);
      await invoices(demo, name, rows(2));
    });

    test("a reload while the form is being sent", async ({ person, demo }) => {
      await demo.network(name, "delay", 600);
      const page = await open(person, demo, name, "reload");
      await press(page);
      await requests(demo, name, 1);
      await page.reload();
      await fill(page, "reload");
      await press(page);
      await landed(page);
      await invoices(demo, name, rows(2));
    });

    test("Back, and the same again", async ({ person, demo }) => {
      const page = await open(person, demo, name, "back");
      await press(page);
      await landed(page, 1);
      await back(page);
      await fill(page, "back");
      await press(page);
      await landed(page, rows(2));
      expect(await notices(page), "the person is told that it had been done").toBe(name === "protected" ? 1 : 0);
      await invoices(demo, name, rows(2));
    });

    test("Back, and something else", async ({ person, demo }) => {
      const page = await open(person, demo, name, "back");
      await press(page);
      await landed(page, 1);
      await back(page);
      await fill(page, "back", "99.00");
      await press(page);
      await landed(page, 2);
      expect(await notices(page)).toBe(0);
      expect(await page.$eval("main", (main) => main.textContent)).toContain("99.00");
      await invoices(demo, name, 2);
    });
  });
}

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

test("the form opened anew, and the same typed", async ({ person, demo }) => {
  for (const number of [1, 2]) {
    const page = await open(person, demo, "protected", "I mean it twice");
    await press(page);
    await landed(page, number);
    expect(await notices(page)).toBe(0);
  }
  await invoices(demo, "protected", 2);
});

test("with the keyboard alone", async ({ person, demo }) => {
  await demo.network("protected", "delay", 400);
  const page = await person.newPage();
  await page.goto(`${demo.protected}/invoices/new`);
  await page.focus("select");
  for (const key of ["ArrowDown", "Tab", "7", "5", "Tab", "Tab", "h", "i", "Tab"] as const) await page.keyboard.press(key);
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Create invoice");
  for (const key of ["Enter", " ", "Enter"] as const) await page.keyboard.press(key);
  await landed(page, 1);
  await invoices(demo, "protected", 1);
});
