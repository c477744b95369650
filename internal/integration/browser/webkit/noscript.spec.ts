import type { Copy } from "../tests/demo.ts";
import { invoices } from "../tests/demo.ts";
import { By, expect, fill, Key, landed, open, press, test, text } from "./webkit.ts";

// Nothing of Semel runs in the browser: the gateway alone makes the difference.
test.use({ scripts: false });

test("scripts are off", async ({ person }) => {
  await person.get("data:text/html,<p>off</p><script>document.querySelector('p').textContent='on'</script>");
  expect(await text(person, "p")).toBe("off");
});

const copies: { name: Copy; rows: (sent: number) => number }[] = [
  { name: "unprotected", rows: (sent) => sent },
  { name: "guarded", rows: (sent) => sent },
  { name: "protected", rows: () => 1 },
];

for (const { name, rows } of copies) {
  test(`Back, and the same again, on the ${name} copy`, async ({ person, demo }) => {
    await open(person, demo, name, "no scripts");
    await press(person);
    await landed(person, 1);
    await person.navigate().back();
    await fill(person, "no scripts");
    await press(person);
    await landed(person, rows(2));
    await invoices(demo, name, rows(2));
  });
}

test("Enter three times on the protected copy", async ({ person, demo }) => {
  await demo.network("protected", "delay", 500);
  await open(person, demo, "protected", "Enter");
  await person.findElement(By.css("#amount")).sendKeys(Key.ENTER, Key.ENTER, Key.ENTER);
  await landed(person, 1);
  await invoices(demo, "protected", 1);
});
