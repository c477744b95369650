import type { Copy } from "../tests/demo.ts";
import { invoices, requests } from "../tests/demo.ts";
import { By, expect, fill, Key, landed, open, press, test } from "./webkit.ts";

const copies: { name: Copy; rows: (sent: number) => number }[] = [
  { name: "unprotected", rows: (sent) => sent },
  { name: "protected", rows: () => 1 },
];

for (const { name, rows } of copies) {
  test.describe(`the ${name} copy`, () => {
    test("Back, and the same again", async ({ person, demo }) => {
      await open(person, demo, name, "back");
      await press(person);
      await landed(person, 1);
      await person.navigate().back();
      await fill(person, "back");
      await press(person);
      await landed(person, rows(2));
      await invoices(demo, name, rows(2));
    });

    test("the same form in two tabs", async ({ person, demo }) => {
      await open(person, demo, name, "two tabs");
      const page = await person.getPageSource();
      await press(person);
      await landed(person, 1);
      await person.get(`${demo[name]}/invoices`);
      await person.executeScript("document.open(); document.write(arguments[0]); document.close()", page.replace(/<script\b[^>]*><\/script>/g, ""));
      await fill(person, "two tabs");
      await press(person);
      await landed(person, rows(2));
      await invoices(demo, name, rows(2));
    });

    test("the answer is lost, and the form is sent again", async ({ person, demo }) => {
      await open(person, demo, name, "lost");
      await demo.network(name, "lose-answer");
      await press(person);
      await expect.poll(async () => (await demo.state())[name].invoices).toBe(1);
      await demo.network(name, "normal");
      await person.navigate().back();
      await expect.poll(() => person.findElements(By.css("form button[type=submit]")).then((all) => all.length)).toBe(1);
      await fill(person, "lost");
      await press(person);
      await landed(person, rows(2));
      await invoices(demo, name, rows(2));
    });
  });
}

for (const copy of ["guarded", "protected"] as const) {
  test(`a double click on the ${copy} copy`, async ({ person, demo }) => {
    await demo.network(copy, "delay", 500);
    await open(person, demo, copy, "double click");
    await press(person, 2);
    await landed(person, 1);
    await requests(demo, copy, 1);
    await invoices(demo, copy, 1);
  });

  test(`Enter three times on the ${copy} copy`, async ({ person, demo }) => {
    await demo.network(copy, "delay", 500);
    await open(person, demo, copy, "Enter");
    await person.findElement(By.css("#amount")).sendKeys(Key.ENTER, Key.ENTER, Key.ENTER);
    await landed(person, 1);
    await invoices(demo, copy, 1);
  });
}
