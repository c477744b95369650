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

const signed = (letter: string, more = "<button>Save</button>") => `<form method="post" action="/save"><input name="name">${token(letter)}${more}</form>`;
const read = `const [form] = document.forms, copy = () => [...new FormData(form)], { port1, port2 } = new MessageChannel();
  port1.onmessage = () => { form.reset(); copy(); };`;
const note = '<input type="hidden" name="_semel" value="sm1.image.at">';
const button = (letter: string, to: string) => `${token(letter)}<button formaction="/other" name="to" value="${to}">${to}</button>`;

// A form that is opened afresh after a lost answer, and sent with the same content, is the same wish.
for (const [name, first, second] of [
  ["a script reads it when it is there, and resets it when it is sent", signed("A"), signed("B"), `${read} addEventListener("load", copy);
    form.addEventListener("submit", () => setTimeout(() => form.reset()))`],
  ["a script reads it at each letter, and when it has reset it", signed("A"), signed("B"), `${read} form.addEventListener("input", copy);
    form.addEventListener("submit", () => port2.postMessage(""))`],
  ["a script reads it, checks it, sends it by form.submit() and resets it", signed("A"), signed("B"), `${read} addEventListener("load", copy);
    form.addEventListener("submit", async (event) => (event.preventDefault(), await fetch("/check"), form.submit(), form.reset()))`],
  ["two buttons with one address", signed("A", button("C", "1") + button("D", "Save")), signed("B", button("E", "1") + button("F", "Save"))],
  ["an image button, pressed elsewhere", signed("A", note + '<input type="image" name="at" alt="Save" width="40" height="40">'), signed("B", note + '<input type="image" name="at" alt="Save" width="60" height="60">')],
  ["a row of a list, with another one above it", signed("A"), signed("B", "<button>Other</button>") + signed("C")],
].map(([name, one, two, script = ""]) => [name!, ...[one, two].map((page) => `${page}<script type="module">${script}</script>`)])) {
  test(`a lost answer, and the form opened afresh: ${name}`, async ({ page, site }) => {
    for (const round of [first, second]) {
      site.page = round!;
      site.answer = (_, response) => void (round === first ? response.destroy() : response.writeHead(303, { Location: "/done" }).end());
      await page.goto(site.url);
      await page.getByRole("textbox").last().pressSequentially("Ada");
      await save(page).click();
      await expect(page).toHaveURL(round === first ? /^chrome-error:/ : /done$/);
    }
    const sent = site.arrived.map(({ fields }) => fields.filter(([each]) => !/^at/.test(each)));
    expect(sent.at(-1)!.find(([each]) => each === "_semel")).toEqual(sent[0]!.find(([each]) => each === "_semel"));
    const content = site.arrived.map(({ fields }) => fields.map(([each]) => each).filter((each, i) => each !== "_semel" || fields[i]![1].includes("image")));
    expect(content.at(-1)).toEqual(content[0]); // a note is still before its button
  });
}

test("a lost answer, and another page with the same form: another wish", async ({ page, site }) => {
  site.page = form().replace('action="/save"', "");
  for (const id of [1, 2]) {
    site.answer = (_, response) => void (id === 1 ? response.destroy() : response.writeHead(303, { Location: "/done" }).end());
    await page.goto(`${site.url}/page?id=${id}`);
    await save(page).click();
    await expect(page).toHaveURL(id === 1 ? /^chrome-error:/ : /done$/);
  }
  expect(key(site.arrived.at(-1))).not.toBe(key(site.arrived[0]));
});

test("Enter after a double click on a word, and once more after a script has changed the form: two wishes", async ({ page, site }) => {
  site.page = form("", '<input type="hidden" name="count" value="1">');
  site.answer = (one, response) => void response.writeHead(204, { "Set-Cookie": `semel_outcome=${key(one)}:executed:204; Path=/` }).end();
  await page.goto(site.url);
  await page.getByLabel("Name").dblclick();
  for (const count of [1, 2]) {
    await page.locator("[name=count]").evaluate((input: HTMLInputElement, value) => (input.value = String(value)), count);
    await page.keyboard.press("Enter");
    await arrived(site, count);
    await expect(page.locator("form")).not.toHaveAttribute("aria-busy");
  }
  expect(key(site.arrived[1])).not.toBe(key(site.arrived[0]));
});

test("a double click with an edit in between, which a script reads: two wishes", async ({ page, site }) => {
  site.page = form() + `<script type="module">${read} form.addEventListener("input", copy)</script>`;
  site.answer = (one, response) => void response.writeHead(204, { "Set-Cookie": `semel_outcome=${key(one)}:executed:204; Path=/` }).end();
  await page.goto(site.url);
  await save(page).click();
  await arrived(site, 1);
  await page.getByLabel("Name").press("x");
  for (const half of ["down", "up"] as const) await page.mouse[half]({ clickCount: 2 });
  await arrived(site, 2);
});

test("a form that is drawn anew while its answer is out has the token of what was sent", async ({ page, site }) => {
  site.page = signed("A");
  site.answer = (_, response) => void response.writeHead(204).end(); // and no outcome
  await page.goto(site.url);
  for (const count of [1, 2]) {
    await page.getByRole("textbox").fill("Ada");
    await save(page).click();
    await arrived(site, count);
    await page.locator("main").evaluate((main, drawn) => (main.innerHTML = drawn), signed("B"));
  }
  expect(field(site.arrived[1], "_semel")).toBe(field(site.arrived[0], "_semel"));
});

test("two forms that are alike, and no answer yet: two wishes", async ({ page, site }) => {
  site.page = signed("A") + signed("B");
  site.answer = (_, response) => void response.writeHead(204).end(); // and no outcome
  await page.goto(site.url);
  for (const row of [0, 1]) {
    await page.getByRole("textbox").nth(row).fill("Ada");
    await save(page).nth(row).click();
    await arrived(site, row + 1);
  }
  expect(field(site.arrived[1], "_semel")).not.toBe(field(site.arrived[0], "_semel"));
});

test("the forms that a page makes and drops are forgotten", async ({ page, site }) => {
  await page.goto(site.url);
  const kept = await page.evaluateHandle(async (field) => {
    const forms: WeakRef<HTMLFormElement>[] = [];
    addEventListener("submit", (event) => event.preventDefault());
    for (let n = 0; n < 200; n++) {
      document.body.innerHTML = `<form id="form-${n}" method="post" data-semel-hold>${field}</form>`;
      await null; // the guard sees it
      document.forms[0]!.requestSubmit();
      forms.push(new WeakRef([...new FormData(document.forms[0]!)] && document.forms[0]!));
    }
    document.body.innerHTML = "";
    return forms;
  }, token("A"));
  await expect.poll(async () => {
    await page.requestGC();
    return kept.evaluate((forms) => forms.filter((form) => form.deref()).length);
  }).toBeLessThan(70);
});
