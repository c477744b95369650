import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Page } from "@playwright/test";
import { expect, open, order, rows, status, test, type Shop } from "./queue-shop";

/** What a person reads where nothing can be kept, by language: of the order, and of the queue. */
const said = {
  en: ["This was not kept and not sent.", "This browser does not let the page keep anything on this device, so nothing can wait to be sent. A private window or a privacy setting may be the reason."],
  sv: ["Det här sparades inte och skickades inte.", "Webbläsaren låter inte sidan spara något på enheten, så inget kan vänta på att skickas. Det kan bero på ett privat fönster eller en integritetsinställning."],
  hi: ["यह न सहेजा गया, न भेजा गया।", "यह ब्राउज़र इस पेज को डिवाइस पर कुछ भी रखने नहीं देता, इसलिए बाद में भेजने के लिए कुछ नहीं रखा जा सकता। निजी विंडो या कोई गोपनीयता सेटिंग इसका कारण हो सकती है।"],
  zh: ["此项未保存，也未发送。", "此浏览器不允许本页在设备上保存任何内容，因此无法保留待发送的内容。原因可能是无痕窗口或隐私设置。"],
} as const;

/** Presses the button, and expects the page to say that nothing was kept, and the shop to have got nothing. */
async function refuses(page: Page, shop: Shop, language: keyof typeof said = "en"): Promise<void> {
  const errors: unknown[] = [];
  page.on("pageerror", (error) => errors.push(error));
  await open(page, shop, { query: `?lang=${language}` });
  await page.getByLabel("Customer").fill("Ada");
  await page.getByRole("button", { name: "Order", exact: true }).click();
  const [refused, why] = said[language];
  await expect(page.locator("#kept")).toHaveText(language === "zh" ? refused + why : `${refused} ${why}`);
  await expect(status(page)).toHaveText(why);
  await expect(page.getByLabel("Customer")).toHaveValue("Ada"); // to be sent in another way
  await rows(shop, []);
  expect(errors).toEqual([]);
}

/** Browsers that keep nothing, by how they say so. */
const without = {
  "no IndexedDB": () => void delete (globalThis as { indexedDB?: unknown }).indexedDB,
  "IndexedDB is undefined": () => void Object.defineProperty(globalThis, "indexedDB", { value: undefined }),
  "IndexedDB throws": () => void Object.defineProperty(globalThis, "indexedDB", { get: () => { throw new DOMException("denied", "SecurityError"); } }),
  "IndexedDB opens with an error, as in a private window": () => {
    IDBFactory.prototype.open = () => {
      const request = {} as { error: DOMException; onerror(): void };
      setTimeout(() => { request.error = new DOMException("no mutations", "InvalidStateError"); request.onerror(); });
      return request as unknown as IDBOpenDBRequest;
    };
  },
  "all storage and its messages are denied": () => {
    const denied = () => { throw new DOMException("denied", "SecurityError"); };
    for (const name of ["indexedDB", "localStorage", "sessionStorage", "caches"]) Object.defineProperty(globalThis, name, { get: denied });
    Object.defineProperty(Navigator.prototype, "serviceWorker", { get: denied });
    globalThis.BroadcastChannel = class { constructor() { denied(); } } as unknown as typeof BroadcastChannel;
    navigator.locks.request = async () => denied();
  },
};

for (const [name, script] of Object.entries(without)) {
  test(`nothing can be kept (${name}): the page says so, and nothing is sent`, { tag: name.startsWith("all") ? [] : "@long" }, async ({ page, context, shop }) => {
    await context.addInitScript(script);
    await refuses(page, shop);
  });
}

for (const language of ["sv", "hi", "zh"] as const) {
  test(`nothing can be kept: said in ${language}`, { tag: "@long" }, async ({ page, context, shop }) => {
    await context.addInitScript(without["IndexedDB throws"]);
    await refuses(page, shop, language);
  });
}

test("Chromium itself blocks cookies and all that sites keep: the page says so, and nothing is sent", { tag: "@whole" }, async ({ launchOptions, shop }) => {
  const home = test.info().outputPath("profile");
  mkdirSync(join(home, "Default"), { recursive: true });
  writeFileSync(join(home, "Default", "Preferences"), JSON.stringify({ profile: { default_content_setting_values: { cookies: 2 } } }));
  const context = await chromium.launchPersistentContext(home, launchOptions);
  await refuses(await context.newPage(), shop);
  await context.close();
});

test("no service worker, no Web Locks, no BroadcastChannel, no crypto.randomUUID: kept, and sent once", async ({ page, context, shop }) => {
  await context.addInitScript(() => {
    for (const name of ["serviceWorker", "locks"]) delete (Navigator.prototype as unknown as Record<string, unknown>)[name];
    delete (globalThis as { BroadcastChannel?: unknown }).BroadcastChannel;
    delete (Crypto.prototype as { randomUUID?: unknown }).randomUUID;
    delete (AbortSignal as { any?: unknown }).any;
  });
  await open(page, shop);
  await shop.stop();
  await order(page, "Ada", "tea");
  await expect(status(page)).toHaveText("2 waiting to be sent.");
  await shop.start();
  await rows(shop, ["Ada"], ["tea"]);
  await expect(status(page)).toHaveText("Everything has been sent.");
});

test("storage that stops working while an order waits: the page does not say that nothing waits", async ({ page, shop }) => {
  await open(page, shop);
  await shop.stop();
  await order(page, "Ada");
  await expect(status(page)).toHaveText("1 waiting to be sent.");
  await page.evaluate(() => {
    IDBDatabase.prototype.transaction = IDBFactory.prototype.open = () => { throw new DOMException("gone", "UnknownError"); };
    window.dispatchEvent(new Event("offline")); // whatever makes the page look
  });
  const failed = "The storage of this browser failed. Reload the page.";
  await expect(status(page)).toHaveText(failed);
  await page.getByLabel("Customer").fill("Grace");
  await page.getByRole("button", { name: "Order", exact: true }).click();
  await expect(page.locator("#kept")).toHaveText(`This was not kept and not sent. ${failed}`);
  await shop.start();
  await page.reload(); // as it says
  await rows(shop, ["Ada"]);
});

test("the order is kept and its line is not: the page says both, and pressing again orders nothing more", async ({ page, context, shop }) => {
  await context.addInitScript(() => {
    const put = IDBObjectStore.prototype.add;
    let entries = 0;
    IDBObjectStore.prototype.add = function (...args) {
      if (++entries > 1) throw new DOMException("full", "QuotaExceededError");
      return put.apply(this, args);
    };
  });
  await open(page, shop);
  await page.getByLabel("Customer").fill("Ada");
  await page.getByLabel("Item").fill("tea");
  await page.getByRole("button", { name: "Order", exact: true }).click();
  await expect(page.locator("#kept")).toHaveText(
    "Kept: the order for Ada. tea: This was not kept and not sent. This device has no room left for what is waiting to be sent.");
  await expect(page.getByLabel("Customer")).toHaveValue("");
  await rows(shop, ["Ada"]);
  expect(await shop.lines()).toEqual([]);
});
