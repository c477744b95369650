import { type Scene, type Tab, field, first, link, second, shows } from "./wishes.ts";

// The ways in which people send the same thing again, and what has to come of each.

/** One row, two because it is another wish, or a refusal in these words. */
export type Outcome = "one" | "new" | { refused: string; rows?: number };

/** Why a way cannot be gone. */
export interface Impossible {
  impossible: string;
}

export interface Way {
  name: string;
  /** The form, its answer, and how long the application takes in milliseconds, as the query of the page says. */
  form?: string;
  answer?: string;
  wait?: number;
  /** The name of a session cookie that changes with every page. */
  cookie?: string;
  /** A page that sends by a script stays where it is, instead of leading to the order. */
  stays?: boolean;
  outcome: Outcome;
  /** Other outcomes, by words that a cell has: a door, "off" (no scripts), an engine. Later ones go first. */
  unlike?: Record<string, Outcome | Impossible>;
  /** Chromium goes it in the short form as well. */
  short?: boolean;
  /** A script that runs in the page when it is there. */
  before?: string;
  act(scene: Scene): Promise<void>;
}

/** What has to come of a way in a cell: a door with or without scripts in an engine. */
export function outcomeOf(way: Way, cell: readonly string[]): Outcome | Impossible {
  let found: Outcome | Impossible = way.outcome;
  for (const [words, other] of Object.entries(way.unlike ?? {})) if (words.split(" ").every((word) => cell.includes(word))) found = other;
  return found;
}

const needsScripts: Impossible = { impossible: "a script of the page does it" };
const remembers: Impossible = { impossible: "only a script remembers that an earlier form was sent" };
const readsAnswers: Impossible = { impossible: "a script reads the answer, whatever the browser would do with it" };
const stale = { refused: "This page is out of date" };

/** The pauses of double clicks that the short form has for each time that the application takes: each of them once. */
const shortGaps: Record<number, number[]> = { 0: [0, 250], 60: [40, 400], 600: [120] };

/** Two presses, this long apart, while the application takes so long. */
function twice(gap: number, wait: number): Way {
  return {
    name: `a double click, ${gap} ms apart, on an answer of ${wait} ms`, wait, stays: true, outcome: "one", short: shortGaps[wait]?.includes(gap) ?? false,
    act: async ({ tab, done }) => {
      await tab.click(...first, { gaps: [gap] });
      await done();
    },
  };
}

/** Sends, and once more after what happens between, from the same tab. */
function again(name: string, between: (scene: Scene) => Promise<void>, more: Partial<Way> = {}): Way {
  return {
    name, outcome: "one", ...more,
    act: async (scene) => {
      await scene.send();
      await scene.done();
      await between(scene);
      await scene.send();
      await scene.arrived(2);
      await scene.done();
    },
  };
}

/** Sends, loses the answer by a fault, and sends once more after what happens then. */
function lost(name: string, fault: Scene["faults"][number], then: (scene: Scene) => Promise<void>, more: Partial<Way> = {}): Way {
  return {
    name, outcome: "one", ...more,
    act: async (scene) => {
      scene.faults.push(fault, fault); // a browser may send once more on its own
      await scene.send();
      await scene.arrived(1);
      await failed(scene);
      scene.faults.length = 0;
      await then(scene);
      await scene.done();
    },
  };
}

/** Waits until the person sees that it did not work. */
function failed({ tab, broken }: Scene): Promise<void> {
  return shows(tab, broken);
}

/** While the first request is under way, something happens; then the form is sent again. */
function meanwhile(name: string, what: (scene: Scene) => Promise<void>, more: Partial<Way> = {}): Way {
  return {
    name, outcome: "one", ...more,
    act: async (scene) => {
      if (scene.scripts) await scene.tab.run("window.left = true"); // Chromium runs no script while a page is under way
      scene.hold();
      await scene.send();
      await scene.arrived(1);
      await what(scene);
      await scene.ready(scene.tab);
      await scene.send();
      scene.release(); // not earlier: the answer to a script leads away from the form
      await scene.done();
    },
  };
}

/** Opens the form anew by an act, and waits until the page that was there is gone: only then may its answer come. */
function afresh(act: (scene: Scene) => Promise<void>): (scene: Scene) => Promise<void> {
  return async (scene) => {
    await act(scene);
    await scene.until(async () => !(await scene.tab.run("window.left === true")));
  };
}

const elsewhere = ({ tab, url }: Scene) => tab.open(url("/elsewhere"));

/** Opens a tab with what the first tab has of this site: its storage and the very same page. */
async function copy({ tab, person, ready, url }: Scene): Promise<Tab> {
  const [page, kept] = (await tab.run("[document.documentElement.outerHTML, JSON.stringify(Object.entries(sessionStorage))]")) as [string, string];
  const other = await person.tab();
  await other.open(url("/elsewhere"));
  await other.run(`for (const [name, value] of ${kept}) sessionStorage.setItem(name, value)`);
  await other.run(`document.open(); document.write(${JSON.stringify(page)}); document.close()`);
  await ready(other);
  return other;
}

/** Presses in several ways while the first answer is held back, and then sees the order. */
function insisting(name: string, press: (scene: Scene) => Promise<void>, more: Partial<Way> = {}): Way {
  return {
    name, stays: true, outcome: "one", ...more,
    act: async (scene) => {
      scene.hold();
      await press(scene);
      await scene.arrived(1);
      scene.release();
      await scene.done();
    },
  };
}

/** Presses for an answer in another window, each time when the last one is there. */
function aside(name: string, presses: ((tab: Tab) => Promise<void>)[], more: Partial<Way> = {}): Way {
  return {
    name, outcome: "one", ...more,
    act: async (scene) => {
      let tabs = 0;
      for (const press of presses) {
        await press(scene.tab);
        const before = tabs;
        await scene.until(async () => (tabs = (await scene.person.opened()).length) > before || (await scene.tab.title()) !== "New");
      }
      for (const tab of await scene.person.opened()) await scene.done(tab);
    },
  };
}

const click = (tab: Tab) => tab.click(...first);
const withKey = (key: "Control" | "Shift") => (tab: Tab) => tab.click(...first, { keys: [key] });
const scriptStays: Impossible = { impossible: "a request of a script has no window for its answer" };
const others = { off: needsScripts, fetch: { impossible: "the page's script sends, not the form" } };

const clicks: Way[] = [
  { name: "a click", outcome: "one", short: true, act: async ({ send, done }) => {
    await send();
    await done();
  } },
  ...[0, 60, 600].flatMap((wait) => [0, 40, 120, 250, 400].map((gap) => twice(gap, wait))),
  { ...twice(30, 200), name: "five clicks", short: false, act: async ({ tab, done }) => {
    await tab.click(...first, { gaps: [30, 60, 30, 60] });
    await done();
  } },
  insisting("a click, and another one at leisure", async ({ tab, send, arrived }) => {
    await send();
    await arrived(1);
    await tab.click(...first);
  }),
  insisting("Enter three times", ({ tab }) => tab.press("Enter", "Enter", "Enter"), { short: true }),
  insisting("Enter, then a click", async ({ tab, send }) => {
    await tab.press("Enter");
    await send();
  }, { short: true }),
  insisting("a click, then Enter in a field", async ({ tab, send }) => {
    await send();
    await tab.press("Enter");
  }),
  insisting("the space bar on the button, twice", ({ tab }) => tab.press("Tab", "Tab", " ", " ")),
  insisting("Enter on the button, twice", ({ tab }) => tab.press("Tab", "Tab", "Enter", "Enter")),
  insisting("the button's label, twice", ({ tab }) => tab.click(...first, { gaps: [50] }), { form: "label" }),
  insisting("a tap, twice", async ({ tab }) => {
    await tab.tap(...first);
    await tab.tap(...first);
  }, { unlike: { webkit: { impossible: "this driver has no fingers" } } }),
  insisting("a button outside of the form, twice", ({ tab }) => tab.click(...first, { gaps: [50] }), { form: "outside" }),
  insisting("a button with an address of its own, twice", ({ tab }) => tab.click(...first, { gaps: [50] }), { form: "formaction", unlike: { library: { impossible: "its one token is for one route" } } }),
  ...["image", "named image"].map((form) => insisting(`${form}, twice with a hand that trembles`, ({ tab }) => tab.click(...first, { gaps: [100], drift: 2 }), { form })),
  insisting("two buttons that mean the same", async ({ tab }) => {
    await tab.click(...first);
    await tab.click(...second);
  }, { form: "two" }),
  insisting("two buttons that mean different things", async ({ tab, arrived, scripts }) => {
    await tab.click(...first);
    if (!scripts) await arrived(1);
    await tab.click(...second);
    if (!scripts) await arrived(2);
  }, { form: "named", unlike: { off: "new", fetch: "new" } }),
  insisting("the page calls form.submit(), twice", async ({ tab }) => {
    await tab.click(...first);
    await tab.click(...first);
  }, { form: "submits", unlike: others }),
  insisting("the page calls form.requestSubmit(), twenty times", ({ tab }) => tab.click(...first), { form: "requests", unlike: { off: needsScripts } }),
  insisting("the page asks its server before it sends, and the person clicks twice", ({ tab }) => tab.click(...first, { gaps: [50] }), { form: "checks", unlike: others }),
  { name: "the middle button, then a click", outcome: "one", act: async ({ tab, send, done }) => {
    await tab.click(...first, { middle: true });
    await send();
    await done();
  } },
  aside("Control and a click, twice", [withKey("Control"), withKey("Control")], { short: true, unlike: { fetch: scriptStays } }),
  aside("Control and a click, then a click", [withKey("Control"), click], { unlike: { fetch: scriptStays } }),
  aside("Shift and a click, twice", [withKey("Shift"), withKey("Shift")], { unlike: { fetch: scriptStays } }),
  aside("a form whose answer goes into a new window, twice", [click, click], { form: "blank", unlike: { fetch: scriptStays } }),
];

const stopsSilently: Impossible = { impossible: "this browser stops and tells the page nothing: the form stays locked until an edit, which is a way of its own" };
/** What Escape does in a browser's own window. */
const stopping = 'addEventListener("keydown", (event) => event.key === "Escape" && window.stop())';

const underWay: Way[] = [
  meanwhile("a reload", afresh(({ tab }) => tab.reload()), { short: true, unlike: { off: remembers } }),
  meanwhile("the form by the address bar", afresh(({ tab, form }) => tab.address(form)), { short: true, unlike: { off: remembers } }),
  meanwhile("the form by its link", afresh(({ tab }) => tab.click(...link)), { unlike: { off: remembers } }),
  meanwhile("another page, and Back", async (scene) => {
    await scene.tab.address(scene.url("/elsewhere"));
    await shows(scene.tab, /^elsewhere$/);
    await scene.tab.back();
  }, { unlike: { "off": remembers } }),
  { ...meanwhile("Stop", ({ tab }) => tab.press("Escape"), { unlike: { off: needsScripts, webkit: stopsSilently, "webkit off": "one", "webkit fetch": "one" } }), before: stopping },
  { ...meanwhile("Stop, and something typed and taken out again", async ({ tab }) => {
    await tab.press("Escape");
    await tab.click(...field);
    await tab.press("x", "Backspace");
  }, { unlike: { off: needsScripts, "webkit off": "one" } }), before: stopping },
  meanwhile("Back, and Forward", async (scene) => {
    await scene.tab.back();
    await shows(scene.tab, /^start$/);
    await scene.tab.forward();
  }, { unlike: { off: remembers } }),
  { name: "a copied tab, while the answer is on its way", outcome: "one", unlike: { off: needsScripts, fetch: { impossible: "a copy has no state of a script" } }, act: async (scene) => {
    const other = await copy(scene);
    scene.hold();
    for (const tab of [scene.tab, other]) await scene.send(tab);
    await scene.arrived(2);
    scene.release();
    for (const tab of [scene.tab, other]) await scene.done(tab);
  } },
  { name: "a slow server, and a click each second", wait: 4000, stays: true, outcome: "one", act: async ({ tab, done }) => {
    await tab.click(...first, { gaps: [1000, 1000, 1000] });
    await done();
  } },
];

const returns = async (scene: Scene) => {
  await scene.back();
  await scene.send();
};
const reopens = async (scene: Scene) => {
  await scene.open();
  await scene.send();
};
const gets: Impossible = { impossible: "a reload of its own page about the failure asks for the address by GET: nothing is sent" };
const retries: Impossible = { impossible: "semelFetch asks again on its own" };

/** Reads the form empty, once before it is sent and once after that. */
const clearing = `{
  const [form] = document.forms, item = form.querySelector("[name=item]"), { value } = item, read = () => (item.value = "", [...new FormData(form)]);
  read();
  item.value = value;
  form.addEventListener("submit", () => setTimeout(read));
}`;

const failures: Way[] = [
  ...(["lose-answer", "lose-request", "bad-gateway", "gateway-timeout"] as const).flatMap((fault) => [
    lost(`${fault}: Back, and send`, fault, returns, { short: fault === "lose-answer", unlike: { fetch: retries } }),
    lost(`${fault}: reload what the browser shows`, fault, async ({ tab }) => tab.reload(), { unlike: { fetch: retries, ...(fault.startsWith("lose") ? { webkit: gets } : {}) } }),
    lost(`${fault}: the form by the address bar, and send`, fault, reopens, { short: fault === "lose-answer", unlike: { fetch: retries, off: fault === "lose-request" ? "one" : remembers } }),
  ]),
  { name: "answers get lost, and the page asks again", outcome: "one", stays: true, short: true, unlike: { gateway: { impossible: "a form waits for the person" }, library: { impossible: "a form waits for the person" } }, act: async ({ faults, send, done }) => {
    faults.push("lose-answer", "bad-gateway");
    await send();
    await done();
  } },
  lost("the captcha is another one when the form is opened again", "lose-answer", reopens, { form: "captcha", short: true, unlike: { fetch: retries, off: remembers } }),
  lost("the captcha is another one after Back", "lose-answer", returns, { form: "captcha", unlike: { fetch: retries } }),
  lost("the token against forgery is another one after Back", "lose-answer", returns, { form: "csrf", unlike: { fetch: retries } }),
  lost("the token against forgery is another one when the form is opened again", "lose-answer", reopens, { form: "csrf", unlike: { fetch: retries, off: remembers } }),
  { ...lost("a script reads the form, and clears it when it is sent: the form opened again", "lose-answer", reopens, { unlike: { fetch: retries, off: needsScripts } }), before: clearing },
  lost("a stamp that no rule ignores is another one", "lose-answer", reopens, { form: "stamped", outcome: "new", unlike: { fetch: retries } }),
  ...["500", "503"].map((answer): Way => ({ name: `the application fails with ${answer} at first: Back, and send`, answer, outcome: "one", unlike: { fetch: retries }, act: async (scene) => {
    await scene.send();
    await failed(scene);
    await returns(scene);
    await scene.until(async () => (await scene.tab.title()) !== "New");
  } })),
  { name: "a mistake, which is mended", answer: "422", outcome: "one", act: async (scene) => {
    await scene.send();
    await scene.answered(1);
    await scene.ready(scene.tab);
    if (scene.door === "fetch") await scene.tab.run('document.querySelector("[name=note]").focus()'); // the page stayed
    else await scene.tab.press("Tab");
    await scene.tab.press("x");
    await scene.send();
    await scene.done();
  } },
];

const answered: Way[] = [
  ...["200", "302", "303", "307", "308"].flatMap((answer) => [
    again(`${answer}, Back, and send`, (scene) => scene.back(), { answer, short: answer === "303", unlike: answer === "303" ? {} : { fetch: readsAnswers } }),
    { name: `${answer}, and F5 on the result`, answer, outcome: "one" as const, unlike: answer === "303" ? {} : { fetch: readsAnswers }, act: async ({ send, done, tab }: Scene) => {
      await send();
      await done();
      await tab.reload();
      await done();
    } },
  ]),
  again("Back, send, Back, and send", async (scene) => {
    await scene.back();
    await scene.send();
    await scene.arrived(2);
    await scene.done();
    await scene.back();
  }),
  again("another page, Back twice, and send", async (scene) => {
    await elsewhere(scene);
    await scene.tab.back();
    await scene.done();
    await scene.back();
  }),
  { name: "Back, Forward, and F5", outcome: "one", act: async (scene) => {
    await scene.send();
    await scene.done();
    await scene.back();
    await scene.tab.forward();
    await scene.done();
    await scene.tab.reload();
    await scene.done();
  } },
  again("Back, something else typed, and send", async (scene) => {
    await scene.back();
    await scene.tab.click(...field); // where the focus is after Back differs
    await scene.tab.press("x");
  }, { outcome: "new", short: true }),
  again("Back, something typed and taken out again, and send", async (scene) => {
    await scene.back();
    await scene.tab.click(...field);
    await scene.tab.press("x", "Backspace");
  }),
  again("Back, the browser fills the same in, and send", async (scene) => {
    await scene.back();
    await scene.tab.run('const field = document.querySelector("[name=item]"); field.value = "tea"; for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, { bubbles: true }))');
  }, { unlike: { off: needsScripts } }),
  again("the form opened anew, and send", (scene) => scene.open(), { outcome: "new", short: true }),
  again("another page, the form opened anew, and send", async (scene) => {
    await elsewhere(scene);
    await scene.open();
  }, { outcome: "new" }),
  again("in several parts, Back, and send", (scene) => scene.back(), { form: "multipart", unlike: { fetch: readsAnswers } }),
  ...["204", "download"].map((answer): Way => ({ name: `${answer}, and another click`, answer, outcome: "one", unlike: { fetch: readsAnswers }, act: async (scene) => {
    for (const count of [1, 2]) {
      await scene.send();
      await scene.arrived(count);
      await scene.answered(count);
      await scene.ready(scene.tab);
    }
  } })),
  { name: "an answer into a frame, and another click", form: "frame", outcome: "one", unlike: { fetch: readsAnswers }, act: async (scene) => {
    for (const count of [1, 2]) {
      await scene.send();
      await scene.arrived(count);
      await scene.answered(count);
    }
  } },
  { name: "two tabs that were opened", outcome: "new", act: async (scene) => {
    const other = await scene.person.tab();
    await scene.open(other);
    for (const tab of [scene.tab, other]) {
      await scene.send(tab);
      await scene.done(tab);
    }
  } },
  { name: "a copied tab, after the answer", outcome: "one", unlike: { off: needsScripts, fetch: { impossible: "a copy has no state of a script" } }, act: async (scene) => {
    const other = await copy(scene);
    for (const tab of [scene.tab, other]) {
      await scene.send(tab);
      await scene.done(tab);
    }
  } },
  { name: "an address of the page's own making, and two clicks", outcome: "one", stays: true, unlike: { off: needsScripts }, act: async ({ tab, done }) => {
    await tab.run('history.pushState(null, "", location.href + "&step=2")');
    await tab.click(...first, { gaps: [50] });
    await done();
  } },
  again("an address of the page's own making, Back, and send", (scene) => scene.back(), { unlike: { off: needsScripts }, act: async (scene) => {
    await scene.tab.run('history.pushState(null, "", location.href + "&step=2")');
    await scene.send();
    await scene.done();
    await scene.back();
    await scene.send();
    await scene.arrived(2);
    await scene.done();
  } }),
  { name: "a print preview, and two clicks", outcome: "one", stays: true, unlike: { off: needsScripts }, act: async ({ tab, done }) => {
    await tab.run("window.print()");
    await tab.click(...first, { gaps: [50] });
    await done();
  } },
];

const sessions: Way[] = [
  again("a cookie that changes with every page, Back, and send", (scene) => scene.back(), { cookie: "app_session" }),
  { name: "another session between the page and its form", outcome: stale, unlike: { fetch: "one" }, act: async (scene) => {
    const other = await scene.person.tab();
    for (const tab of [scene.tab, other]) {
      await tab.open(scene.url("/renew", { cookie: "sessionid" }));
      if (tab === scene.tab) await scene.open();
    }
    await scene.send();
    await scene.arrived(1);
  } },
  { name: "the log-in has expired: signed in, Back, and send", answer: "sign-in", outcome: "one", unlike: { fetch: readsAnswers }, act: async (scene) => {
    await scene.send();
    await shows(scene.tab, /^Sign in$/);
    await returns(scene);
    await scene.done();
  } },
  { name: "the log-in has expired: signed in, and the form opened anew", answer: "sign-in", outcome: "one", unlike: { fetch: readsAnswers }, act: async (scene) => {
    await scene.send();
    await shows(scene.tab, /^Sign in$/);
    await reopens(scene);
    await scene.done();
  } },
];

export const ways: readonly Way[] = [...clicks, ...underWay, ...failures, ...answered, ...sessions];
