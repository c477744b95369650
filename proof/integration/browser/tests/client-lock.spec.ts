import type { Page } from "@playwright/test";
import { type Arrived, expect, type Site, test } from "./site.ts";

const token = "sm1." + "A".repeat(50);
const form = (attributes = "", more = "<button>Save</button>") =>
  `<form method="post" action="/save" data-semel ${attributes}><label>Name <input name="name" value="Ada"></label>${more}</form>`;
const save = (page: Page) => page.getByRole("button", { name: "Save", exact: true });
const field = (arrived: Arrived | undefined, name: string) => arrived?.fields.find(([each]) => each === name)?.[1];
const key = (arrived: Arrived | undefined) => field(arrived, "semel_key");
const busy = (page: Page) => page.locator("form");
const arrived = (site: Site, count: number) => expect.poll(() => site.arrived.length).toBe(count);

test("a page that stays after 204: the outcome's cookie unlocks, and the same content is the same wish until the page says new", async ({ page, site }) => {
  site.page = form();
  site.answer = (one, response) =>
    void response.writeHead(204, { "Set-Cookie": `semel_outcome=${key(one)}:executed:204; Path=/; Max-Age=3600` }).end();
  await page.goto(site.url);
  for (const count of [1, 2, 3, 4]) {
    if (count > 2) await page.evaluate(() => document.forms[0]!.reset());
    if (count < 4) await save(page).click();
    else await page.evaluate(() => document.forms[0]!.submit());
    await arrived(site, count);
    await expect(busy(page)).not.toHaveAttribute("aria-busy");
  }
  const keys = site.arrived.map(key);
  expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
  expect(keys[1]).toBe(keys[0]);
  expect(new Set(keys).size).toBe(3);
});

test("a download without a cookie: the form that says so takes the next press, not the double click", async ({ page, site }) => {
  site.page = form("data-semel-stays");
  site.answer = (_, response) =>
    void response.writeHead(200, { "Content-Disposition": "attachment; filename=a.txt", "Content-Type": "text/plain" }).end("a");
  await page.goto(site.url);
  await save(page).click();
  await arrived(site, 1);
  await expect(busy(page)).toHaveAttribute("aria-busy", "true");
  for (const half of ["down", "up"] as const) await page.mouse[half]({ clickCount: 2 }); // the rest of a double click
  await save(page).focus();
  await page.keyboard.press("Enter");
  await arrived(site, 2);
  expect(key(site.arrived[1])).toBe(key(site.arrived[0])); // the outcome is unknown: the same draft
});

test("a download whose cookie comes: nothing says that it is still being saved", async ({ page, site }) => {
  site.page = form("", "<button>Save</button> <a href='/done'>Cancel</a>");
  let reply = (): void => undefined;
  site.answer = async (one, response) => {
    await new Promise<void>((resolve) => (reply = resolve));
    response.writeHead(200, {
      "Content-Disposition": "attachment; filename=a.txt", "Content-Type": "text/plain",
      "Set-Cookie": `semel_outcome=${key(one)}:executed:200; Path=/; Max-Age=3600`,
    }).end("a");
  };
  await page.goto(site.url);
  const status = page.locator("form").getByRole("status");
  await save(page).evaluate((button) => button.addEventListener("click", () => setTimeout(() => {
    const boxes = ["form [role=status]", "form a"].map((each) => document.querySelector(each)!.getBoundingClientRect());
    console.debug("right of the link: " + (boxes[0]!.left >= boxes[1]!.right) + ", dimmed: " + getComputedStyle(button).opacity);
  }, 100)));
  const seen = page.waitForEvent("console", (message) => message.text().startsWith("right of the link"));
  await save(page).click({ noWaitAfter: true });
  expect((await seen).text()).toBe("right of the link: true, dimmed: 0.6");
  await arrived(site, 1);
  reply();
  await expect(busy(page)).not.toHaveAttribute("aria-busy");
  await expect(status).toHaveText("");
  await expect(save(page)).toHaveCSS("opacity", "1");
  site.answer = (_, response) => void response.writeHead(303, { Location: "/done" }).end();
  await save(page).click();
  await arrived(site, 2);
  expect(key(site.arrived[1])).toBe(key(site.arrived[0]));
});

test("editing unlocks, and edited content is another draft", async ({ page, site }) => {
  site.page = form();
  site.answer = (_, response) => void response.writeHead(204).end();
  await page.goto(site.url);
  await save(page).click();
  await arrived(site, 1);
  await save(page).click({ force: true }); // it says that it is disabled
  await page.getByLabel("Name").fill("Bob");
  await expect(busy(page)).not.toHaveAttribute("aria-busy");
  await save(page).click();
  await arrived(site, 2);
  expect(site.arrived.map((one) => field(one, "name"))).toEqual(["Ada", "Bob"]);
  expect(key(site.arrived[1])).not.toBe(key(site.arrived[0]));
});

test("a frame that gets the answer unlocks", async ({ page, site }) => {
  site.page = form('target="answer"') + '<iframe name="answer" title="answer"></iframe>';
  const errors: string[] = [];
  page.on("pageerror", ({ message }) => void errors.push(message));
  let answer = () => {};
  site.answer = (_, response) => void (answer = () => void response.writeHead(303, { Location: "/done" }).end());
  await page.goto(site.url);
  for (const count of [1, 2]) {
    await save(page).dblclick();
    await arrived(site, count);
    answer();
    await expect(page.frameLocator("iframe").getByRole("heading")).toHaveText("Done");
    await expect(busy(page)).not.toHaveAttribute("aria-busy");
    expect(site.arrived.length).toBe(count);
    await page.getByLabel("Name").fill("Bob");
  }
  expect(key(site.arrived[1])).not.toBe(key(site.arrived[0]));
  expect(errors).toEqual([]);
});

test("a button that leads elsewhere takes no key along and locks nothing", async ({ page, site, elsewhere }) => {
  const hidden = `<input type="hidden" name="_semel" value="${token}" autocomplete="off" data-semel-token>`;
  site.page = form("", hidden + `<button formaction="${elsewhere.url}/pay" formtarget="other">Pay</button><button>Save</button>`);
  await page.goto(site.url);
  const popup = page.waitForEvent("popup");
  await page.getByRole("button", { name: "Pay" }).click();
  await popup;
  await arrived(elsewhere, 1);
  expect(elsewhere.arrived[0]!.fields).toEqual([["name", "Ada"]]);
  await expect(busy(page)).not.toHaveAttribute("aria-busy");
  await save(page).click();
  await arrived(site, 1);
  expect(field(site.arrived[0], "_semel")).toBe(token);
  await expect(page).toHaveURL(/done$/);
});

test("a search by GET and a dialog carry no key", async ({ page, site }) => {
  site.page = form("", '<button formmethod="get" formaction="/done">Search</button><button formmethod="dialog">Close</button>');
  await page.goto(site.url);
  await page.getByRole("button", { name: "Close" }).click();
  await expect(busy(page)).not.toHaveAttribute("aria-busy");
  await page.getByRole("button", { name: "Search" }).click();
  await expect(page).toHaveURL(`${site.url}/done?name=Ada`);
});

test("fields named like members of forms", async ({ page, site }) => {
  const names = ["action", "method", "id", "elements", "target", "submit"].map((name) => `<input type="hidden" name="${name}" value="x">`);
  site.page = form("", names.join("") + "<button>Save</button>");
  await page.goto(site.url);
  await save(page).dblclick();
  await expect(page).toHaveURL(/done$/);
  expect(site.arrived).toHaveLength(1);
  expect(key(site.arrived[0])).toMatch(/^[0-9a-f-]{36}$/);
});

test("a form that appears later, and one that asks not to be guarded", async ({ page, site }) => {
  site.page = "<div></div>";
  await page.goto(site.url);
  await page.evaluate((html) => (document.querySelector("div")!.innerHTML = html), form());
  await expect(page.locator("input[name=semel_key]")).toHaveValue(/^[0-9a-f-]{36}$/);
  await page.evaluate((html) => (document.querySelector("div")!.innerHTML = html), form().replace("data-semel", 'data-semel="off"'));
  await save(page).click();
  await expect(page).toHaveURL(/done$/);
  expect(site.arrived[0]!.fields).toEqual([["name", "Ada"]]);
});

for (const marked of [" data-semel-token", ""]) {
  test(`a token${marked && " with the gateway's attribute"} without an answer comes back for the same content; after an answer it does not`, async ({ page, site }) => {
    const another = "sm1." + "B".repeat(50);
    const guarded = (value: string) =>
      form("", `<input type="hidden" name="_semel" value="${value}" autocomplete="off"${marked}><button>Save</button>`).replace(" data-semel ", " ");
    const sent = () => site.arrived.map((one) => [field(one, "_semel"), field(one, "name")]);
    site.page = guarded(token);
    site.answer = (_, response) => void response.destroy();
    await page.goto(site.url);
    await save(page).click();
    await expect(page).toHaveURL(/^chrome-error:/);
    const before = site.arrived.length; // a browser may send it once more on its own
    site.page = guarded(another);
    site.answer = (one, response) => {
      const id = field(one, "_semel") === token ? "A".repeat(22) : "B".repeat(21) + "A";
      response.writeHead(303, { Location: "/done", "Set-Cookie": `semel_outcome=${id}:replayed:303; Path=/` }).end();
    };
    await page.goto(site.url);
    await save(page).click();
    await expect(page.locator(".semel-notice")).toHaveText(/^You had already sent this form, so it was not sent again/);
    await expect(page).toHaveURL(/done$/);
    await page.reload();
    await expect(page.locator(".semel-notice")).toHaveCount(0); // said once
    await page.goto(site.url);
    await save(page).click();
    await expect(page).toHaveURL(/done$/);
    expect(sent().slice(before)).toEqual([[token, "Ada"], [another, "Ada"]]);
  });
}

test("the page's own token is sent with content that the earlier one was not sent with", async ({ page, site }) => {
  const guarded = (letter: string) => form("", `<input type="hidden" name="_semel" value="sm1.${letter.repeat(50)}"><button>Save</button>`);
  site.page = guarded("A");
  site.answer = (_, response) => void response.destroy();
  await page.goto(site.url);
  await save(page).click();
  await expect(page).toHaveURL(/^chrome-error:/);
  site.page = guarded("B");
  site.answer = (_, response) => void response.writeHead(204).end();
  await page.goto(site.url);
  const before = site.arrived.length;
  for (const [name, letter] of [["Bob", "B"], ["Ada", "B"]] as const) {
    await page.getByLabel("Name").fill(name);
    await save(page).click();
    await expect.poll(() => field(site.arrived.at(-1), "name")).toBe(name);
    expect(field(site.arrived.at(-1), "_semel")).toBe("sm1." + letter.repeat(50));
    await page.keyboard.press("Escape");
  }
  expect(site.arrived.length).toBe(before + 2);
});

test("an application that knows the outcome says it in its page", async ({ page, site }) => {
  site.page = form('data-semel-duplicate="Invoice created. Your first attempt counts."');
  site.answer = (one, response) => {
    response.writeHead(200, { "Content-Type": "text/html" });
    response.end(`<!doctype html><html lang="en"><meta name="semel-outcome" content="${key(one)} replayed 201">
<script defer src="/guard.js"></script><h1>Invoice</h1></html>`);
  };
  await page.goto(site.url);
  await save(page).click();
  await expect(page.getByRole("status")).toHaveText("Invoice created. Your first attempt counts.");
});

test("a handler that sends the form itself keeps it locked until it tells", async ({ page, site }) => {
  site.page = form("data-semel-hold");
  await page.goto(site.url);
  await page.evaluate(() => document.forms[0]!.addEventListener("submit", (event) => {
    event.preventDefault();
    document.title = String(new FormData(document.forms[0]!).get("semel_key"));
  }));
  const keys: string[] = [];
  const tell = (definitive: boolean) => page.evaluate((detail) =>
    document.forms[0]!.dispatchEvent(new CustomEvent("semel:settle", { bubbles: true, detail })), { definitive });
  for (const definitive of [false, true, true]) {
    await save(page).click();
    await expect(busy(page)).toHaveAttribute("aria-busy", "true");
    keys.push(await page.title());
    await tell(definitive);
    await expect(busy(page)).not.toHaveAttribute("aria-busy");
  }
  for (const half of ["down", "up"] as const) await page.mouse[half]({ clickCount: 2 }); // the rest of a double click
  await expect(busy(page)).not.toHaveAttribute("aria-busy");
  await page.evaluate(() => document.forms[0]!.reset());
  await save(page).click();
  await expect(busy(page)).toHaveAttribute("aria-busy", "true");
  expect(keys).toEqual(Array(3).fill(keys[0]));
  expect(await page.title()).not.toBe(keys[0]);
});

test("without storage and cookies one page still sends once", async ({ page, site }) => {
  site.page = form();
  await page.addInitScript(() => {
    const refuse = { get: () => { throw new DOMException("no", "SecurityError"); }, configurable: true };
    for (const name of ["sessionStorage", "localStorage", "cookieStore"]) Object.defineProperty(window, name, name === "cookieStore" ? { value: undefined } : refuse);
    Object.defineProperty(document, "cookie", { ...refuse, set: refuse.get });
  });
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  site.answer = async (_, response) => {
    await gate;
    response.writeHead(303, { Location: "/done" }).end();
  };
  await page.goto(site.url);
  const box = (await save(page).boundingBox())!;
  for (let n = 0; n < 3; n++) await page.mouse.click(box.x + 5, box.y + 5);
  await arrived(site, 1);
  release();
  await expect(page).toHaveURL(/done$/);
  expect(site.arrived).toHaveLength(1);
  expect(key(site.arrived[0])).toMatch(/^[0-9a-f-]{36}$/);
  expect(errors).toEqual([]);
});

test.describe("touch", () => {
  test.use({ hasTouch: true });
  test("a double tap", async ({ page, site }) => {
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    site.page = form();
    site.answer = async (_, response) => {
      await gate;
      response.writeHead(303, { Location: "/done" }).end();
    };
    await page.goto(site.url);
    const box = (await save(page).boundingBox())!;
    for (let n = 0; n < 2; n++) await page.touchscreen.tap(box.x + 5, box.y + 5);
    await arrived(site, 1);
    release();
    await expect(page).toHaveURL(/done$/);
    expect(site.arrived).toHaveLength(1);
  });
});
