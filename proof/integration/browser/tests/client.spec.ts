import { button, edit, expect, fill, keyIn, locked, notes, open, test } from "./shop.ts";

const slow = { mode: "delay", ms: 1500, count: 9 } as const;
const placed = /\/orders\/[0-9a-f-]+$/;

for (const gap of [0, 50, 250, 1000]) {
  test(`two clicks, ${gap} ms apart`, { tag: gap === 50 || gap === 250 ? "@long" : [] }, async ({ page, shop, sights }) => {
    await shop.fault(slow);
    await open(page, shop);
    const box = (await button(page).boundingBox())!;
    await page.mouse.click(box.x + 20, box.y + 10);
    if (gap) await page.waitForTimeout(gap); // the person's pace
    await page.mouse.click(box.x + 20, box.y + 10);
    await expect(page).toHaveURL(placed);
    expect(sights.find((sight) => sight.busy)).toMatchObject({ status: "Saving…", disabled: 1, focus: "Place order" });
    await notes(shop, "one");
    expect(await shop.requests()).toBe(1);
  });
}

test("Enter three times, then a click", async ({ page, shop }) => {
  await shop.fault(slow);
  await open(page, shop);
  const box = (await button(page).boundingBox())!;
  for (let n = 0; n < 3; n++) await page.keyboard.press("Enter");
  await page.mouse.click(box.x + 20, box.y + 10);
  await expect(page).toHaveURL(placed);
  await notes(shop, "one");
  expect(await shop.requests()).toBe(1);
});

test("requestSubmit in a loop", async ({ page, shop }) => {
  await open(page, shop);
  await page.evaluate(() => {
    for (let n = 0; n < 20; n++) document.forms[0]!.requestSubmit();
  });
  await expect(page).toHaveURL(placed);
  await notes(shop, "one");
  expect(await shop.requests()).toBe(1);
});

test("the pressed button's value is sent, and nothing moves", async ({ page, context, shop, sights }) => {
  await edit(context, (html) => html
    .replace(/<p><label>Note.*/, "")
    .replace("<button>Place order</button>",
      '<button name="note" value="express">Express</button> <button name="note" value="slow">By ship</button>'));
  await shop.fault(slow);
  await page.goto(`${shop.url}/form.html`);
  await page.getByLabel("Customer").fill("Ada");
  await page.getByRole("button", { name: "By ship" }).click({ noWaitAfter: true });
  await locked(sights);
  const { boxes } = sights.findLast((sight) => !sight.busy)!;
  expect(sights.at(-1)).toMatchObject({ boxes, disabled: 2, focus: "By ship", status: "Saving…" });
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(placed);
  await notes(shop, "slow");
});

test("a reload before the answer keeps the draft", async ({ page, shop, sights }) => {
  await shop.fault(slow);
  await open(page, shop);
  const key = await keyIn(page);
  await button(page).click({ noWaitAfter: true });
  await locked(sights);
  await page.reload().catch(() => undefined); // the submission that it aborts is reported here
  await expect(page).toHaveURL(/form\.html$/);
  await expect.poll(() => keyIn(page)).toBe(key); // the reload may end before the page has loaded
  await fill(page, "one");
  await button(page).click();
  await expect(page).toHaveURL(placed);
  await notes(shop, "one");
});

test("a lost answer: back, and once more", async ({ page, shop }) => {
  await open(page, shop);
  const key = await keyIn(page);
  await shop.fault({ mode: "lose-answer", count: 9 }); // the browser also resends on its own
  await button(page).click();
  await expect(page).toHaveURL(/^chrome-error:|\/orders$/);
  await notes(shop, "one");
  await shop.fault({ mode: "" });
  await page.goto(`${shop.url}/form.html`);
  expect(await keyIn(page)).toBe(key);
  await fill(page, "one");
  await button(page).click();
  await expect(page).toHaveURL(placed);
  await notes(shop, "one");
});

test("back, and once more", async ({ page, shop }) => {
  await open(page, shop);
  const key = await keyIn(page);
  await button(page).click();
  await expect(page).toHaveURL(placed);
  const landed = page.url();
  await page.goBack();
  expect(await keyIn(page)).toBe(key);
  await fill(page, "one");
  await button(page).click();
  await expect(page).toHaveURL(landed);
  await expect(page.locator(".semel-notice")).toHaveText(/^You had already sent this order/);
  await notes(shop, "one");
});

test.describe("without scripts", () => {
  test.use({ javaScriptEnabled: false, tolerated: /status of 422/ });
  test("back, and once more; back, edited, and once more", async ({ page, shop }) => {
    await open(page, shop);
    await button(page).click();
    await expect(page).toHaveURL(placed);
    const landed = page.url();
    await page.goBack();
    await button(page).click();
    await expect(page).toHaveURL(landed);
    await page.goBack();
    await fill(page, "two");
    await button(page).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("This form had already been sent");
    await page.getByRole("link", { name: "Go back to the form" }).click();
    await fill(page, "two");
    await button(page).click();
    await expect(page).toHaveURL(placed);
    await notes(shop, "one", "two");
  });
});

test("back, edited, and once more", async ({ page, shop }) => {
  await open(page, shop);
  await button(page).click();
  await expect(page).toHaveURL(placed);
  await page.goBack();
  await fill(page, "two");
  await button(page).click();
  await expect(page).toHaveURL(placed);
  await notes(shop, "one", "two");
});

test("the same order on purpose, from a fresh form", async ({ page, shop }) => {
  for (let n = 0; n < 2; n++) {
    await open(page, shop);
    await button(page).click();
    await expect(page).toHaveURL(placed);
  }
  await notes(shop, "one", "one");
});

test("two tabs of one named draft", async ({ page, context, shop }) => {
  await edit(context, (html) => html.replace("data-semel ", 'data-semel data-semel-draft="order-1" '));
  const other = await context.newPage();
  await page.goto(shop.url); // one session for both
  for (const tab of [page, other]) await open(tab, shop);
  expect(await keyIn(other)).toBe(await keyIn(page));
  for (const tab of [page, other]) await button(tab).click();
  for (const tab of [page, other]) await expect(tab).toHaveURL(placed);
  expect(other.url()).toBe(page.url());
  await notes(shop, "one");
  await open(page, shop);
  await button(page).click();
  await notes(shop, "one", "one");
});

test("two tabs, two drafts", async ({ page, context, shop }) => {
  const other = await context.newPage();
  await page.goto(shop.url);
  for (const tab of [page, other]) await open(tab, shop);
  for (const tab of [page, other]) await button(tab).click();
  for (const tab of [page, other]) await expect(tab).toHaveURL(placed);
  await notes(shop, "one", "one");
});

test("what the browser finds wrong does not lock", async ({ page, shop, sights }) => {
  await page.goto(`${shop.url}/form.html`);
  await button(page).click();
  await locked(sights, false);
  await fill(page, "one");
  await button(page).click();
  await expect(page).toHaveURL(placed);
  await notes(shop, "one");
});

test("what a handler stops does not lock", async ({ page, shop, sights }) => {
  await open(page, shop);
  await page.evaluate(() => {
    document.forms[0]!.addEventListener("submit", (event) => event.preventDefault(), { once: true });
  });
  await button(page).click();
  await locked(sights, false);
  expect(await shop.requests()).toBe(0);
  await button(page).click();
  await expect(page).toHaveURL(placed);
  await notes(shop, "one");
});

test.describe("the server finds something wrong", () => {
  test.use({ tolerated: /status of (404|422)/ });
  test("and takes the mended form", async ({ page, shop }) => {
    await open(page, shop);
    await page.getByLabel("Customer").fill("  ");
    await button(page).click();
    await expect(page.locator("body")).toHaveText(/Customer: 1 to 500 bytes/);
    await page.goBack();
    await fill(page, "one");
    await button(page).click();
    await expect(page).toHaveURL(placed);
    await notes(shop, "one");
  });
});

test("the person stays on the page", async ({ page, shop, sights }) => {
  await open(page, shop);
  const key = await keyIn(page);
  await page.evaluate(() => window.addEventListener("beforeunload", (event) => event.preventDefault(), { once: true }));
  page.once("dialog", (dialog) => dialog.dismiss());
  await button(page).click();
  await locked(sights, false);
  expect(await shop.requests()).toBe(0);
  await button(page).click();
  await expect(page).toHaveURL(placed);
  await notes(shop, "one");
  expect(key).not.toBe("");
});

test("Escape gives the submission up, and the next one is the same draft", async ({ page, shop, sights }) => {
  await shop.fault(slow);
  await open(page, shop);
  await page.evaluate(() => window.addEventListener("keydown", (event) => { // as the browser's own window does
    if (event.key === "Escape") window.stop();
  }));
  const key = await keyIn(page);
  await button(page).click({ noWaitAfter: true });
  await locked(sights);
  await page.keyboard.press("Escape");
  await locked(sights, false);
  expect(await keyIn(page)).toBe(key);
  await shop.fault({ mode: "" });
  await button(page).click();
  await expect(page).toHaveURL(placed);
  await notes(shop, "one");
});

test("form.submit() carries a key", async ({ page, shop }) => {
  await open(page, shop);
  const sent = page.waitForRequest((request) => request.method() === "POST");
  const key = await keyIn(page);
  await page.evaluate(() => document.forms[0]!.submit());
  expect((await sent).postData()).toContain(`semel_key=${key}`);
  await expect(page).toHaveURL(placed);
  await notes(shop, "one");
});
