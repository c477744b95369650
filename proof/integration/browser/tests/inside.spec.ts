import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { create, expect, fill, look, open, pressTwice, test } from "./inside.ts";

// The invoice application that is protected from inside, without a gateway, and first of all without scripts: what a person
// does there makes one invoice, and the same in the naive one makes more.

test.describe("without scripts", () => {
  test.use({ javaScriptEnabled: false });

  test("a double click makes two invoices in the naive application", async ({ page, naive }) => {
    await open(page, naive);
    await pressTwice(page);
    await expect(page).toHaveURL(/\/invoices\/\d+$/);
    await expect.poll(async () => (await naive.counts()).invoices).toBe(2);
  });

  test("a double click makes one invoice, and its page is shown", async ({ page, inside }) => {
    await open(page, inside);
    let sent = 0;
    await page.route("**/invoices", async (route) => { // a slow network: the first answer is held back until the second press came
      if (route.request().method() !== "POST") return route.fallback();
      const first = ++sent === 1;
      const response = await route.fetch({ maxRedirects: 0 });
      if (first) await expect.poll(() => sent).toBe(2);
      await route.fulfill({ response }).catch(() => {}); // the page no longer waits for the first
    });
    await pressTwice(page);
    await expect(page.getByRole("heading", { name: /^Invoice INV-\d{4}-0001$/ })).toBeVisible();
    await expect(page.getByRole("status")).toBeVisible();
    expect(sent).toBe(2);
    expect(await inside.counts()).toMatchObject({ invoices: 1, emails: 1 });
  });

  test("the keyboard alone: Enter in a field, then Enter on the button", async ({ page, inside }) => {
    await page.goto(`${inside.url}/invoices/new`);
    await page.keyboard.press("Tab");
    await expect(page.getByRole("link", { name: "Skip to the content" })).toBeFocused();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await expect(page.getByLabel("Customer")).toBeFocused();
    await page.keyboard.press("A"); // Ada Bakery
    await page.keyboard.press("Tab");
    await page.keyboard.type("150");
    await page.keyboard.press("Enter");
    await expect(page).toHaveURL(/\/invoices\/1$/);
    await page.goBack();
    await page.getByLabel("Customer").focus();
    await page.keyboard.press("A");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Control+A");
    await page.keyboard.type("150");
    await page.keyboard.press("Enter");
    await expect(page).toHaveURL(/\/invoices\/1$/);
    await expect(page.getByRole("status")).toContainText("saved only once");
    expect(await inside.counts()).toMatchObject({ invoices: 1, emails: 1 });
  });

  test("reload, and Back with the same and with another amount", async ({ page, inside }) => {
    await open(page, inside);
    await create(page).click();
    await expect(page).toHaveURL(/\/invoices\/1$/);
    await page.reload();
    await page.goBack();
    await fill(page, "150");
    await create(page).click();
    await expect(page, "the same again leads to the first invoice").toHaveURL(/\/invoices\/1$/);
    expect((await inside.counts()).invoices).toBe(1);
    await page.goBack();
    await fill(page, "151");
    await create(page).click();
    await expect(page, "another amount is another invoice").toHaveURL(/\/invoices\/2$/);
    expect(await inside.counts()).toMatchObject({ invoices: 2, emails: 2 });
  });

  test("a refused form that is reloaded is refused again, and can be mended", async ({ page, inside }) => {
    await open(page, inside);
    await page.getByLabel("Amount").fill("much");
    await create(page).click();
    await expect(page.getByRole("alert")).toBeVisible();
    await page.reload();
    await expect(page.getByRole("alert")).toBeVisible();
    await page.getByLabel("Amount").fill("150");
    await create(page).click();
    await expect(page).toHaveURL(/\/invoices\/1$/);
    expect(await inside.counts()).toMatchObject({ invoices: 1, emails: 1 });
  });
});

for (const [locale, sentence] of [
  ["en", "There is a customer with this e-mail address already."],
  ["sv-SE", "Det finns redan en kund med den här e-postadressen."],
  ["hi-IN", "इस ई-मेल पते वाला ग्राहक पहले से मौजूद है।"],
  ["zh-CN", "已有客户使用该电子邮箱。"],
] as const) {
  test.describe(() => {
    test.use({ locale });

    test(`a conflict is told in ${locale}`, { tag: locale === "en" ? [] : "@long" }, async ({ page, inside }, info) => {
      await page.goto(`${inside.url}/customers`);
      await page.getByLabel("Name").fill("Ada");
      await page.getByLabel("E-mail").fill("Accounts@Ada-Bakery.example");
      await page.getByRole("button", { name: "Add customer" }).click();
      const told = page.locator("#email-error").getByText(sentence);
      await expect(told).toBeVisible();
      await expect(told).toHaveAttribute("lang", locale.slice(0, 2));
      await expect(page.getByLabel("E-mail")).toHaveAccessibleDescription(new RegExp(sentence));
      await expect(page.getByLabel("Name")).toHaveValue("Ada");
      await look(page, info, `conflict-${locale}`);
      expect((await inside.counts()).customers).toBe(3);
    });
  });
}

test("everybody can use the pages", async ({ page, inside }, info) => {
  test.slow();
  await open(page, inside);
  await look(page, info, "form");
  await create(page).click();
  await page.getByLabel("Amount").fill("100");
  await page.getByLabel("Bank reference").fill("OCR 4711");
  await page.getByRole("button", { name: "Record payment" }).click();
  await expect(page.getByRole("status")).toContainText("Payment of 100.00 recorded.");
  await page.getByLabel("Amount").fill("100");
  await page.getByRole("button", { name: "Record payment" }).click();
  await expect(page.locator("#amount-error")).toContainText("The payment is more than what is still due.");
  await look(page, info, "too-much");
  await page.goto(`${inside.url}/invoices/new`);
  await fill(page, "7");
  await create(page).click();
  await expect(page).toHaveURL(/\/invoices\/2$/);
  await page.goBack();
  await fill(page, "7");
  await create(page).click();
  await expect(page.getByRole("status")).toContainText("saved only once");
  await look(page, info, "replayed");
});

test("a form that is no longer valid says so", async ({ page, inside }, info) => {
  await open(page, inside);
  await page.context().addCookies([{ name: "sessionid", value: "somebody-else", url: new URL("/", page.url()).href }]);
  await create(page).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("This page is out of date");
  await look(page, info, "stale");
  expect((await inside.counts()).invoices).toBe(0);
});

test("with the script: one request for three clicks, and the same key", async ({ page, scripted }) => {
  await open(page, scripted);
  const posts: string[] = [];
  page.on("request", (request) => request.method() === "POST" && posts.push(request.postData() ?? ""));
  const box = (await create(page).boundingBox())!;
  await page.mouse.click(box.x + 5, box.y + 5, { clickCount: 3 });
  await expect(page).toHaveURL(/\/invoices\/1$/);
  expect(posts.length).toBe(1);
  expect(posts[0]).toContain("_semel=sm1.");
  expect(await scripted.counts()).toMatchObject({ invoices: 1, emails: 1 });
});

test("with the script: a reload before the answer, the same again, and once more on purpose", async ({ page, scripted }) => {
  let posts = 0;
  const slow = createServer(async (request, response) => { // keeps the first answer to itself, with its cookies
    const headers = Object.entries(request.headers).filter(([name]) => !/^(connection|content-length|host)$/.test(name)) as [string, string][];
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = "GET" } = request;
    const answer = await fetch(scripted.url + request.url, { method, headers, redirect: "manual", ...(chunks.length ? { body: Buffer.concat(chunks) } : {}) });
    if (method === "POST" && ++posts === 1) return;
    response.statusCode = answer.status;
    for (const [name, value] of answer.headers) if (!/^(connection|content-(encoding|length)|set-cookie|transfer-encoding)$/.test(name)) response.setHeader(name, value);
    response.setHeader("Set-Cookie", answer.headers.getSetCookie());
    response.end(Buffer.from(await answer.arrayBuffer()));
  }).listen(0, "127.0.0.1");
  await once(slow, "listening");
  const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
  await open(page, { ...scripted, url });
  await create(page).click({ noWaitAfter: true });
  await expect.poll(async () => (await scripted.counts()).invoices).toBe(1);
  await page.reload().catch(() => undefined); // the submission that it aborts is reported here
  await expect(page).toHaveURL(/\/invoices\/new$/);
  await fill(page, "150");
  await create(page).click();
  await expect(page).toHaveURL(/\/invoices\/1$/);
  await open(page, { ...scripted, url }); // it was answered: a form opened afresh is another wish
  await create(page).click();
  await expect(page).toHaveURL(/\/invoices\/2$/);
  expect(await scripted.counts()).toMatchObject({ invoices: 2, emails: 2 });
  slow.close();
  slow.closeAllConnections();
});
