import type { Copy } from "../tests/demo.ts";
import { invoices, requests } from "../tests/demo.ts";
import { landed, middle, open, test } from "./firefox.ts";

// Nothing of Semel runs in the browser: the gateway alone makes the difference.
test.use({ preferences: { "javascript.enabled": false } });

const copies: { name: Copy; rows: (sent: number) => number }[] = [
  { name: "unprotected", rows: (sent) => sent },
  { name: "guarded", rows: (sent) => sent },
  { name: "protected", rows: () => 1 },
];

for (const { name, rows } of copies) {
  test(`a double click on the ${name} copy`, async ({ person, demo }) => {
    await demo.network(name, "delay", 500);
    const page = await open(person, demo, name, "no scripts");
    const [x, y] = await middle(page);
    await page.mouse.click(x, y);
    await requests(demo, name, 1);
    await page.mouse.click(x, y);
    await requests(demo, name, 2);
    await landed(page);
    await invoices(demo, name, rows(2));
  });
}
