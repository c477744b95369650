import { type Copy, button, expect, fill, invoices, landed, open, requests, test } from "./demo.ts";

// What bad networks do to people. The demo makes them bad on purpose.
const copies: { name: Copy; once: boolean }[] = [
  { name: "unprotected", once: false },
  { name: "protected", once: true },
];

for (const { name, once } of copies) {
  test.describe(`the ${name} copy`, { tag: name === "unprotected" ? "@long" : [] }, () => {
    test("the answer is lost, and the person tries again", async ({ page, demo, expected }) => {
      expected.push(/ERR_INVALID_HTTP_RESPONSE/);
      await open(page, demo, name, "lost answer");
      await demo.network(name, "lose-answer");
      await button(page).click();
      await expect(page).toHaveURL("chrome-error://chromewebdata/");
      await requests(demo, name, 1);
      await invoices(demo, name, 1);
      await demo.network(name, "normal");
      await page.goBack();
      await fill(page, "lost answer");
      await button(page).click();
      await landed(page, once ? 1 : 2);
      await invoices(demo, name, once ? 1 : 2);
    });

    test("the answer is lost, and the person reloads what the browser shows", async ({ page, demo, expected }) => {
      expected.push(/ERR_INVALID_HTTP_RESPONSE/);
      await open(page, demo, name, "lost answer");
      await demo.network(name, "lose-answer");
      await button(page).click();
      await expect(page).toHaveURL("chrome-error://chromewebdata/");
      await demo.network(name, "normal");
      await page.reload();
      await landed(page, once ? 1 : 2);
      await invoices(demo, name, once ? 1 : 2);
    });

    test("Chromium sends the form again by itself", async ({ page, demo }) => {
      await open(page, demo, name, "sent again");
      await demo.network(name, "close-reused");
      await button(page).click();
      await landed(page, once ? 1 : 2);
      const { networks, ...sides } = await demo.state();
      expect(sides[name].requests).toBe(2);
      expect(networks[name].resent, "nobody clicked twice").toBe(1);
      await invoices(demo, name, once ? 1 : 2);
    });
  });
}

test("the request is lost, and the person tries again", async ({ page, demo, expected }) => {
  expected.push(/ERR_INVALID_HTTP_RESPONSE/);
  await open(page, demo, "protected", "lost request");
  await demo.network("protected", "drop-request");
  await button(page).click();
  await expect(page).toHaveURL("chrome-error://chromewebdata/");
  await invoices(demo, "protected", 0);
  await demo.network("protected", "normal");
  await page.goBack();
  await fill(page, "lost request");
  await button(page).click();
  await landed(page, 1);
  await invoices(demo, "protected", 1);
});
