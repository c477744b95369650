import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { expect, open, order, rows, status, test, type Shop } from "./queue-shop";

/** What a person reads, by language. */
const said = {
  en: {
    sum: "1 could not be sent and needs your decision.", title: "Not sent", why: "The server did not accept it.",
    answer: "Answer: customer: 1 to 500 bytes", retry: "Try again", discard: "Discard", ask: "Discard this for good?", yes: "Yes, discard", keep: "Keep it",
    child: "2 waiting to be sent. 1 could not be sent and needs your decision.", sent: "Everything has been sent.", nothing: "Nothing is waiting to be sent.",
  },
  sv: {
    sum: "1 kunde inte skickas. Du behöver välja vad som ska hända.", title: "Inte skickat", why: "Servern godtog det inte.",
    answer: "Svar: customer: 1 to 500 bytes", retry: "Försök igen", discard: "Ta bort", ask: "Ta bort för gott?", yes: "Ja, ta bort", keep: "Behåll",
    child: "2 väntar på att skickas. 1 kunde inte skickas. Du behöver välja vad som ska hända.", sent: "Allt är skickat.", nothing: "Inget väntar på att skickas.",
  },
  hi: {
    sum: "1 नहीं भेजा जा सका। फ़ैसला आपको करना है।", title: "नहीं भेजा गया", why: "सर्वर ने इसे स्वीकार नहीं किया।",
    answer: "उत्तर: customer: 1 to 500 bytes", retry: "फिर कोशिश करें", discard: "हटाएँ", ask: "इसे हमेशा के लिए हटाएँ?", yes: "हाँ, हटाएँ", keep: "रहने दें",
    child: "2 भेजे जाने बाकी हैं। 1 नहीं भेजा जा सका। फ़ैसला आपको करना है।", sent: "सब कुछ भेज दिया गया है।", nothing: "भेजने के लिए कुछ बाकी नहीं है।",
  },
  zh: {
    sum: "1 项未能发送，需要您来决定。", title: "未发送", why: "服务器没有接受此项。",
    answer: "响应：customer: 1 to 500 bytes", retry: "重试", discard: "放弃", ask: "确定永久放弃此项？", yes: "确定放弃", keep: "保留",
    child: "2 项等待发送。1 项未能发送，需要您来决定。", sent: "全部已发送。", nothing: "没有等待发送的内容。",
  },
} as const;

/** Queues an order that the shop refuses, and returns its id. */
async function poison(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const order = await globalThis.queue.add("/api/orders", { body: { customer: "" }, label: "Order <b>without</b> a name" });
    return order.id;
  });
}

/** Fails when a tool finds something that keeps people out. */
async function accessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)).toEqual([]);
}

async function shown(page: Page, language: keyof typeof said): Promise<void> {
  const { sum, title, why, answer, retry, discard } = said[language];
  await expect(status(page)).toHaveText(sum);
  const box = page.locator("semel-queue-status");
  await expect(box.getByRole("heading", { name: title })).toBeVisible();
  const card = box.getByRole("listitem");
  await expect(card).toHaveCount(1);
  await expect(card).toContainText("Order <b>without</b> a name");
  await expect(card).toContainText(why);
  await expect(card).toContainText(answer);
  await expect(card.getByRole("button", { name: retry })).toBeVisible();
  await expect(card.getByRole("button", { name: discard })).toBeVisible();
  await expect(box.locator("section")).toHaveAttribute("lang", language);
}

for (const language of ["en", "sv", "hi", "zh"] as const) {
  test(`poison in ${language}: shown with its reason; tried again; discarded after a question`, { tag: language === "en" ? [] : "@long" }, async ({ page, shop }) => {
    const text = said[language];
    await open(page, shop, { query: `?lang=${language}` });
    await poison(page);
    await shown(page, language);
    await accessible(page);
    await page.screenshot({ path: test.info().outputPath(`poison-${language}.png`), fullPage: true });

    const box = page.locator("semel-queue-status");
    const before = await shop.requests();
    await box.getByRole("button", { name: text.retry }).click(); // the same key: the same answer, and no second try there
    await expect.poll(() => shop.requests()).toBe(before + 1);
    await shown(page, language);

    await box.getByRole("button", { name: text.discard }).focus();
    await page.keyboard.press("Enter");
    await expect(box.getByRole("alert").filter({ hasText: text.ask })).toBeVisible();
    await expect(box.getByRole("button", { name: text.keep })).toBeFocused();
    await accessible(page);
    await page.screenshot({ path: test.info().outputPath(`question-${language}.png`), fullPage: true });
    await page.keyboard.press("Escape");
    await expect(box.getByRole("button", { name: text.discard })).toBeFocused();
    await shown(page, language);
    await page.keyboard.press("Enter");
    await page.keyboard.press("Shift+Tab");
    await expect(box.getByRole("button", { name: text.yes })).toBeFocused();
    await page.keyboard.press("Enter");
    await expect(box.getByRole("listitem")).toHaveCount(0);
    await expect(status(page)).toBeFocused();
    await expect(status(page)).toHaveText(text.nothing);
    expect(await page.evaluate(async () => (await globalThis.queue.list()).length)).toBe(0);
    await rows(shop, []);
  });
}

async function stuckChildren(page: Page, shop: Shop, language: keyof typeof said): Promise<void> {
  await open(page, shop, { query: `?lang=${language}` });
  const id = await poison(page);
  await page.evaluate(async (after) => {
    for (const item of ["tea", "coffee"]) {
      await globalThis.queue.add("/api/orders/{order}/lines", { body: { item }, after, fill: { "{order}": "/id" }, label: item });
    }
  }, id);
  await expect(status(page)).toHaveText(said[language].child);
}

test("others go on past poison; its lines wait and follow the order that takes its place", async ({ page, shop }) => {
  await stuckChildren(page, shop, "en");
  await order(page, "Grace", "milk");
  await rows(shop, ["Grace"], ["milk"]);
  await expect(status(page)).toHaveText(said.en.child);
  await page.evaluate(async () => {
    const [aside] = (await globalThis.queue.list()).filter(({ state }) => state === "set-aside");
    await globalThis.queue.edit(aside!.id, "/api/orders", { body: { customer: "Ada" }, label: "Order for Ada" });
  });
  await rows(shop, ["Grace", "Ada"], ["milk", "tea", "coffee"]);
  await expect(status(page)).toHaveText(said.en.sent);
  const ada = (await shop.orders())[1]!;
  expect((await shop.lines()).map((line) => line.order === ada.id)).toEqual([false, true, true]);
});

test("lines of a discarded order are shown, and cannot be sent without it", async ({ page, shop }) => {
  await stuckChildren(page, shop, "en");
  const box = page.locator("semel-queue-status");
  await box.getByRole("button", { name: "Discard" }).click();
  await box.getByRole("button", { name: "Yes, discard" }).click();
  await expect(status(page)).toHaveText("2 could not be sent and need your decision.");
  await expect(box.getByRole("listitem")).toHaveText([/tea.*The entry it belongs to was discarded\./, /coffee.*The entry it belongs to was discarded\./]);
  await expect(box.getByRole("button", { name: "Try again" })).toHaveCount(0);
  await expect(box.getByRole("heading", { name: "Not sent" })).toBeFocused();
  await rows(shop, []);
});

test("a narrow dark page without motion", async ({ page, shop }) => {
  await page.setViewportSize({ width: 320, height: 640 });
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  await open(page, shop, { query: "?lang=sv" });
  await poison(page);
  await shown(page, "sv");
  await accessible(page);
  expect(await page.evaluate(() => document.documentElement.scrollWidth), "nothing sticks out").toBeLessThanOrEqual(320);
  const boxes = await page.locator("semel-queue-status").getByRole("button").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
  for (const height of boxes) expect(height).toBeGreaterThanOrEqual(44);
  expect(await page.evaluate(() => document.getAnimations().length)).toBe(0);
  await page.screenshot({ path: test.info().outputPath("narrow.png"), fullPage: true });
});

test("another owner's entries are neither shown nor sent", async ({ page, shop }) => {
  await open(page, shop);
  await shop.stop();
  await order(page, "Ada");
  const bob = await page.evaluate(async () => {
    const { openQueue } = await import("/semel/queue.js" as string) as { openQueue(options: object): typeof globalThis.queue };
    const queue = openQueue({ owner: "bob" });
    await queue.add("/api/orders", { body: { customer: "Bob" } });
    return (await queue.list()).length;
  });
  expect(bob).toBe(1);
  await shop.start();
  await rows(shop, ["Bob"]);
  await page.evaluate(() => globalThis.queue.hurry());
  await rows(shop, ["Bob"]);
  await page.reload(); // Ada is back
  await rows(shop, ["Bob", "Ada"]);
});

test("a newer version of the page has changed the layout: this one says reload, and sends nothing twice", async ({ page, shop }) => {
  await open(page, shop);
  await shop.stop();
  await order(page, "Ada");
  await page.evaluate(() => new Promise<void>((resolve, reject) => {
    const request = indexedDB.open("semel-queue", 2);
    request.onsuccess = () => (request.result.close(), resolve());
    request.onerror = () => reject(request.error);
  }));
  await page.getByLabel("Customer").fill("Grace");
  await page.getByRole("button", { name: "Order", exact: true }).click();
  await expect(page.locator("#kept")).toHaveText("This was not kept and not sent. There is a newer version of this page. Reload it.");
  await expect(status(page)).toContainText("There is a newer version of this page. Reload it.");
  await shop.start();
  await page.evaluate(() => globalThis.queue.hurry());
  await rows(shop, []);
});
