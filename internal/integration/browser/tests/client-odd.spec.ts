import type { Page } from "@playwright/test";
import { type Arrived, expect, type Site, test } from "./site.ts";
const form = (attributes = "", more = "<button>Save</button>") =>
  `<form method="post" action="/save" data-semel ${attributes}><label>Name <input name="name" value="Ada"></label>${more}</form>`;
const save = (page: Page) => page.getByRole("button", { name: "Save", exact: true });
const field = (arrived: Arrived | undefined, name: string) => arrived?.fields.find(([each]) => each === name)?.[1];
const key = (arrived: Arrived | undefined) => field(arrived, "semel_key");
const arrived = (site: Site, count: number) => expect.poll(() => site.arrived.length).toBe(count);
const token = (letter: string) => `<input type="hidden" name="_semel" value="sm1.${letter.repeat(50)}" autocomplete="off" data-semel-token>`;

const submit = () => HTMLFormElement.prototype.submit.call(document.forms[0]!);
const ways = {
  "by itself": submit,
  "in its handler": () => document.forms[0]!.addEventListener("submit", (event) => {
    event.preventDefault();
    HTMLFormElement.prototype.submit.call(document.forms[0]!);
  }),
  "after a check": () => document.forms[0]!.addEventListener("submit", async (event) => {
    event.preventDefault();
    await fetch("/check");
    HTMLFormElement.prototype.submit.call(document.forms[0]!);
  }),
};

test("the page calls form.submit() and gets an answer: the form opened afresh is another wish", async ({ page, site }) => {
  site.page = form();
  for (const [name, way] of Object.entries(ways)) {
    for (const _ of [1, 2]) {
      await page.goto(site.url);
      await page.evaluate(way);
      if (way !== submit) await save(page).click();
      await expect(page).toHaveURL(/done$/);
    }
    const [one, two] = site.arrived.splice(0);
    expect(key(two), name).not.toBe(key(one));
  }
});

test("a button pressed with Control opens another tab: the next press goes through, with the same key", async ({ page, context, site }) => {
  site.page = form();
  site.answer = (one, response) => {
    const outcome = `${key(one)}:${site.arrived.length === 1 ? "executed" : "replayed"}:303`;
    response.writeHead(303, { Location: "/done", "Set-Cookie": `semel_outcome=${outcome}; Path=/` }).end();
  };
  await page.goto(site.url);
  for (const count of [1, 2]) {
    const tab = context.waitForEvent("page");
    await save(page).click({ modifiers: ["Control"], force: true }); // it says that it is disabled
    await tab;
    await arrived(site, count);
  }
  expect(key(site.arrived[1])).toBe(key(site.arrived[0]));
  await expect(page.locator(".semel-notice")).toHaveText("Already saved. The result is in the other tab.");
});

test("a named draft with tokens is one in two tabs, also after an answer", async ({ page, context, site }) => {
  const other = await context.newPage();
  site.answer = (one, response) => {
    const id = field(one, "_semel")!.slice(4, 26);
    response.writeHead(303, { Location: "/done", "Set-Cookie": `semel_outcome=${id}:executed:303; Path=/` }).end();
  };
  let n = 0;
  for (const round of [0, 1]) {
    for (const tab of [page, other]) {
      site.page = form('data-semel-draft="d"', token("AQgw"[n++]!) + "<button>Save</button>");
      await tab.goto(site.url);
    }
    const values = [];
    for (const tab of [page, other]) values.push(await tab.locator("[data-semel-token]").inputValue());
    expect(values[0], `round ${round}`).toBe(values[1]);
    await save(page).click();
    await expect(page).toHaveURL(/done$/);
  }
});

test("a token does not come back into a form of the same id that goes elsewhere", async ({ page, site }) => {
  site.answer = (_, response) => void response.destroy();
  site.page = form('id="new"', token("A") + "<button>Save</button>");
  await page.goto(site.url + "/?type=a");
  await save(page).click();
  await expect(page).toHaveURL(/^chrome-error:/);
  site.page = form('id="new"', token("Q") + "<button>Save</button>").replace("/save", "/credit");
  await page.goto(site.url + "/?type=b");
  await expect(page.locator("[data-semel-token]")).toHaveValue(/^sm1\.Q+$/);
});
