import { gateway, serve } from "./behind.ts";
import { expect, notes, type Shop, test } from "./shop.ts";
import type { Page } from "@playwright/test";

const pages = [
  { name: "fetch", path: "/fetch.html", said: /^Order 1 is placed/ },
  { name: "react", path: "/assets/react.html", said: /^Ordered/ },
  { name: "vue", path: "/assets/vue.html", said: /^Ordered/ },
  { name: "htmx", path: "/assets/htmx.html", said: /^Order 1/ },
];

async function open(page: Page, shop: Shop, path: string): Promise<void> {
  await page.goto(shop.url); // a session
  await page.goto(shop.url + path);
  await page.getByLabel("Customer").fill("Ada");
  await page.getByLabel("Note").fill("one");
}

test.use({ tolerated: /status of 503|ERR_EMPTY_RESPONSE/ });

for (const { name, path, said } of pages) {
  const answer = (page: Page) => page.locator("#answer, p[role=status]").last();

  test(`${name}: three clicks`, async ({ page, shop }) => {
    await shop.fault({ mode: "delay", ms: 1000, count: 9 });
    await open(page, shop, path);
    const box = (await page.getByRole("button").boundingBox())!;
    for (let n = 0; n < 3; n++) await page.mouse.click(box.x + 20, box.y + 10);
    await expect(answer(page)).toHaveText(said);
    await notes(shop, "one");
  });

  for (const [delay, gap] of [[0, 0], [0, 120], [0, 400], [60, 120], [60, 350], [600, 120]] as const) {
    test(`${name}: a double click, ${gap} ms apart, and an answer after ${delay} ms`, { tag: name === "fetch" || gap === 120 ? [] : "@long" }, async ({ page, shop }) => {
      await shop.fault({ mode: "delay", ms: delay, count: 9 });
      await open(page, shop, path);
      const box = (await page.getByRole("button").boundingBox())!;
      await page.mouse.click(box.x + 20, box.y + 10);
      await page.waitForTimeout(gap); // the person's pace
      for (const half of ["down", "up"] as const) await page.mouse[half]({ clickCount: 2 });
      await expect(answer(page)).toHaveText(said);
      await page.getByLabel("Note").fill("two");
      await page.getByRole("button").click();
      await notes(shop, "one", "two");
    });
  }

  test(`${name}: a lost answer and a server that is not ready`, { tag: name === "fetch" ? [] : "@long" }, async ({ page, shop }) => {
    await open(page, shop, path);
    await shop.fault({ mode: "lose-answer", count: 2 }); // the browser resends the first on its own
    await page.getByRole("button").click();
    await expect(answer(page)).toHaveText(said);
    await notes(shop, "one");
    await shop.fault({ mode: "status-503", count: 2 });
    await page.getByLabel("Note").fill("two");
    await page.getByRole("button").click();
    await notes(shop, "one", "two");
  });
}

test("a reload while the answer is lost: the same intent", async ({ page, shop }) => {
  await open(page, shop, "/fetch.html");
  await shop.fault({ mode: "lose-answer", count: 99 });
  await page.getByRole("button").click();
  await notes(shop, "one");
  await page.reload();
  await shop.fault({ mode: "" });
  await page.getByLabel("Customer").fill("Ada");
  await page.getByLabel("Note").fill("one");
  await page.getByRole("button").click();
  await expect(page.locator("#answer")).toHaveText("Order 1 is placed (first attempt).");
  await notes(shop, "one");
});

test("the fields of a form with a token of the gateway are one wish until the page resets it, or opens it again", async ({ page }) => {
  let orders = 0;
  const shop = await serve((request, response) => {
    if (request.method === "POST") response.writeHead(201).end(String(++orders));
    else response.writeHead(200, { "Content-Type": "text/html" }).end(`<form method="post" action="/"><input name="item" value="tea"><button>Order</button></form>
<script type="module">
import { semelFetch } from "/.well-known/semel/semel.js";
document.forms[0].addEventListener("submit", async (event) => {
  event.preventDefault();
  const from = event.target;
  document.title = await (await semelFetch("/", { method: "POST", body: new FormData(from) }, { intent: "order", from })).text();
});
</script>`);
  });
  const front = await gateway(shop.url, "  - {name: orders, match: {methods: [POST], path: /}, form: true}\n");
  await page.goto(front.url);
  for (const number of [1, 1, 2, 3, 3, 4]) {
    if (number === 4) await page.reload();
    else if (number > orders) await page.evaluate(() => document.forms[0]!.reset());
    await page.evaluate(() => (document.title = ""));
    await page.getByRole("button").click();
    await expect(page).toHaveTitle(String(number));
    await page.waitForTimeout(600); // not the rest of a double click
  }
  await front.stop();
  await shop.stop();
});
