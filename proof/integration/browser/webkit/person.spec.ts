import { invoices, requests } from "../tests/demo.ts";
import { landed, open, press, test } from "./webkit.ts";

// What the table of ways (ways.ts) does not look at: how much is sent.

for (const copy of ["guarded", "protected"] as const) {
  test(`a double click on the ${copy} copy is sent once`, async ({ person, demo }) => {
    await demo.network(copy, "delay", 500);
    await open(person, demo, copy, "double click");
    await press(person, 2);
    await landed(person, 1);
    await requests(demo, copy, 1);
    await invoices(demo, copy, 1);
  });
}
