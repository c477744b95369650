import { invoices, requests } from "../tests/demo.ts";
import { expect, landed, middle, open, test } from "./firefox.ts";

// Firefox can send an Idempotency-Key of its own, which is another one for every submission. Scripts are off, so that
// all of them reach the gateway.
test.use({ preferences: { "network.http.idempotencyKey.enabled": true, "javascript.enabled": false } });

test("a key that the browser adds does not outrank the form's", async ({ person, demo }) => {
  await demo.network("protected", "delay", 800);
  const page = await open(person, demo, "protected", "two names for one wish");
  const [x, y] = await middle(page);
  for (const sent of [1, 2, 3]) {
    await page.mouse.click(x, y);
    await requests(demo, "protected", sent);
  }
  await landed(page, 1);
  await invoices(demo, "protected", 1);
});
