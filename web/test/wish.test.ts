import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { semelFetch } from "../src/fetch.js";
import type { Record, Shelf } from "../src/storage.js";
import { type Following, settle, Wish } from "../src/wish.js";
import { storage } from "./page.js";

const here: Following = { type: "navigate", status: 200, entry: "e2", from: "e1", referrer: "http://a/form", page: "http://a/form", redirects: 1 };
const sent: Record = { key: "k1", digest: "d1", entry: "e1", page: "http://a/form", goal: "http://a/save", at: 1 };

function shelfOf(record: Record): Shelf & { record: Record } {
  return {
    record,
    get: () => record,
    put(_, next) {
      Object.assign(record, next);
    },
    drop: () => undefined,
    names: () => ["form:x"],
  };
}

describe("the key of a rendering", () => {
  const own = (key?: string, digest?: string, token?: string) => new Wish({}, key, digest, token);

  test("stays for the content that it was used for, and is new for other content", () => {
    const wish = own("k9");
    expect(wish.sign_("d1", undefined, here)).toBe("k9");
    expect(wish.sign_("d1", { ...sent, key: "another tab's", digest: "d2" }, here)).toBe("k9");
    expect(wish.sign_("d2", undefined, here)).toMatch(/^[0-9a-f-]{36}$/);
    expect(own("k1", "d1").sign_("d2", sent, here)).not.toBe("k1"); // the draft goes on with other content
  });

  test("gives way to the one that the same content was sent with, while that has no answer", () => {
    expect(own().sign_("d1", sent, here)).toBe("k1");
    expect(own().sign_("d2", sent, here)).not.toBe("k1");
    expect(own().sign_("d1", { ...sent, ended: true }, here)).not.toBe("k1");
    for (const [entry, goesOn] of [["e1", true], ["e7", false]] as const) {
      expect(own().sign_("d1", { ...sent, ended: true }, { ...here, type: "back_forward", entry }) === "k1").toBe(goesOn);
    }
    const { entry: _, ...nameless } = sent;
    expect(own().sign_("d1", { ...nameless, ended: true }, { ...here, type: "back_forward", entry: undefined })).toBe("k1");
  });

  test("is the page's own token, unless an earlier one was sent with the same content", () => {
    expect(own("t2", undefined, "t2").sign_("d2", sent, here)).toBe("t2");
    const wish = own("t2", undefined, "t2");
    expect(wish.sign_("d1", sent, here)).toBe("k1");
    wish.end_();
    expect(wish.sign_("d1", { ...sent, ended: true }, here)).toBe("k1"); // the page stays, and so does the wish
    expect(wish.sign_("d2", { ...sent, ended: true }, here)).toBe("t2");
  });
});

test("an outcome ends the draft of its key only", () => {
  const shelf = shelfOf({ ...sent });
  expect(settle(shelf, here, [{ id: "other", word: "executed", status: 303 }])).toEqual([]);
  expect(settle(shelf, here, [{ id: "k1", word: "unknown", status: 409 }])).toEqual([]);
  expect(shelf.record.ended).toBeUndefined();
  expect(settle(shelf, here, [{ id: "k1", word: "replayed", status: 303 }])).toHaveLength(1);
  expect(shelf.record.ended).toBe(true);
});

test.each([
  ["the answer", here, true],
  ["the answer, where entries have no names", { ...here, from: undefined }, true],
  ["the answer, at the form's target", { ...here, redirects: 0, page: "http://a/save" }, true],
  ["the form by the address bar", { ...here, redirects: 0 }, false],
  ["a page that followed another", { ...here, from: "e7" }, false],
  ["a page that hides where it came from", { ...here, from: undefined, referrer: "" }, false],
  ["a page from elsewhere", { ...here, from: undefined, referrer: "http://a/other" }, false],
  ["an error of the server", { ...here, status: 503 }, false],
  ["still at work", { ...here, status: 409 }, false],
  ["a browser that tells no status", { ...here, status: 0 }, false],
  ["a refusal", { ...here, status: 422 }, true],
  ["a reload", { ...here, type: "reload" }, false],
  ["Back", { ...here, type: "back_forward" }, false],
])("the page that follows: %s", (_, arrival, ended) => {
  const shelf = shelfOf({ ...sent, left: true });
  settle(shelf, arrival, []);
  expect(Boolean(shelf.record.ended)).toBe(ended);
});

test("a page ends no draft that an outcome speaks of, that left for another reason, or that has a token", () => {
  const spoken = shelfOf({ ...sent, left: true });
  settle(spoken, here, [{ id: "k1", word: "in-flight", status: 409 }]);
  expect(spoken.record).toMatchObject({ left: false }); // the next page is not its answer
  expect(spoken.record.ended).toBeFalsy();
  const strayed = shelfOf({ ...sent, left: false });
  settle(strayed, here, []);
  expect(strayed.record.ended).toBeFalsy();
  const token = shelfOf({ ...sent, key: "sm1." + "A".repeat(50), left: true });
  settle(token, here, []);
  expect(token.record.ended).toBeFalsy(); // its outcome ends it
});

// The guard's forms are tried with the same cases in browsers.
interface Case {
  name: string;
  doors?: string[];
  steps: [act: string, what?: string | number, gets?: string][];
}
const { cases } = JSON.parse(readFileSync(new URL("../../testdata/vectors/wish.json", import.meta.url), "utf8")) as { cases: Case[] };

describe.each([
  [["form", "fetch"], "a form", () => ({ elements: [] }), () => ({ elements: [] })],
  [["form", "fetch"], "a form with a token", () => ({ elements: [], token: true }), () => ({ elements: [], token: true })],
  [["fetch"], "a control", () => ({}), () => ({})],
  [["fetch"], "a form with another wish", () => ({ elements: [] }), (form: object) => form],
])("a wish of semelFetch (%j) from %s lasts until its content changes or the page says new", (tried, _, first, second) => {
  let listeners: [type: string, listener: (event: object) => void][];
  let send: typeof semelFetch;
  let arrivedBy: string;
  let opened = 0;
  const open = async (): Promise<{ from: object; intent: string; content: string }[]> => {
    listeners = [];
    opened++;
    vi.resetModules();
    send = (await import("../src/fetch.js")).semelFetch;
    const from = first();
    return [{ from, intent: "order", content: "" }, { from: second(from), intent: "invoice", content: "" }];
  };
  beforeEach(() => {
    vi.stubGlobal("sessionStorage", storage());
    vi.stubGlobal("localStorage", storage());
    vi.stubGlobal("addEventListener", (...[type, listener]: (typeof listeners)[0]) => listeners.push([type, listener]));
    vi.stubGlobal("navigation", { currentEntry: { key: "e1" } });
    vi.spyOn(performance, "getEntriesByType").mockImplementation(() => [{ type: arrivedBy } as unknown as PerformanceEntry]);
  });
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });

  test.each(cases.filter(({ doors }) => !doors || doors.some((door) => tried.includes(door))))("$name", async ({ steps }) => {
    const keys: string[] = [];
    let settle: { answer: () => void; refuse: () => void; lose: () => void } | undefined;
    vi.stubGlobal("fetch", (_: string, { headers, body }: RequestInit) => {
      const fields = new URLSearchParams(body as URLSearchParams);
      keys.push(fields.has("_semel") ? String(fields) : new Headers(headers).get("Idempotency-Key")!); // as the gateway takes it
      return new Promise((resolve, reject) => {
        const answer = (status: number) => () => resolve(new Response("{}", { status }));
        settle = { answer: answer(201), refuse: answer(422), lose: () => reject(new TypeError("cut")) };
      });
    });
    arrivedBy = "navigate";
    let wishes = await open();
    let calls: Promise<unknown>[] = [];
    const dispatch = (type: string, more: object = {}): void =>
      listeners.filter(([each]) => each === type).forEach(([, listen]) => listen({ type, target: "elements" in wishes[0]!.from ? wishes[0]!.from : {}, isTrusted: true, ...more }));
    for (const [act, what, gets] of steps) {
      switch (act) {
        case "edit":
          wishes[0]!.content = String(what);
          dispatch("input");
          break;
        case "click": {
          dispatch("click", { detail: what });
          const before = [...keys];
          const [{ content, ...wish }] = wishes as [(typeof wishes)[0]];
          const body = "token" in wish.from ? new URLSearchParams({ _semel: `sm1.${String(opened % 10).repeat(50)}`, content }) : content;
          calls.push(send("http://shop.test/api/orders", { method: "POST", body }, { ...wish, attempts: 1 }).catch((error: unknown) => error));
          await new Promise((resolve) => setTimeout(resolve)); // bodies are read before they are sent
          const got = keys.length === before.length ? "blocked" : before.includes(keys.at(-1)!) ? "same" : "new";
          expect(got, JSON.stringify([act, what])).toBe(gets);
          break;
        }
        case "answer":
        case "refuse":
        case "lose":
          settle![act]();
          await Promise.all(calls);
          calls = [];
          break;
        case "open":
        case "back":
          arrivedBy = act === "back" ? "back_forward" : "navigate";
          wishes = await open();
          break;
        case "other":
          wishes.reverse();
          break;
        case "return":
          dispatch("pageshow", { persisted: true });
          break;
        case "reset":
        case "new":
          dispatch(act === "new" ? "semel:new" : act);
          break;
        default:
          throw new Error(act);
      }
    }
    settle!.answer();
    for (const each of await Promise.all(calls)) expect(each).toBeInstanceOf(Response); // a call that sends nothing gets the first answer
  });
});
