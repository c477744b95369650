import { expect, test } from "vitest";
import { type Arrival, keyOfRendering, keyOfSubmission, settle, settleByPage } from "../src/draft.js";
import { type Record, type Shelf } from "../src/storage.js";

const here: Arrival = { type: "navigate", status: 200, entry: "e2", from: "e1", referrer: "http://a/form", page: "http://a/form" };
const sent: Record = { key: "k1", digest: "d1", entry: "e1", page: "http://a/form", at: 1 };

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

test("a draft without an answer keeps its key, however the page came", () => {
  for (const type of ["navigate", "reload", "back_forward"]) {
    expect(keyOfRendering(sent, { ...here, type }, undefined, false)).toBe("k1");
    expect(keyOfRendering(sent, { ...here, type }, "token", false)).toBe("k1");
  }
});

test("a draft that ended has a new key, but not the same rendering that came back", () => {
  const ended = { ...sent, ended: true };
  expect(keyOfRendering(ended, here, undefined, false)).not.toBe("k1");
  expect(keyOfRendering(ended, here, "token", false)).toBe("token");
  expect(keyOfRendering(ended, { ...here, type: "reload" }, undefined, false)).not.toBe("k1");
  expect(keyOfRendering(ended, { ...here, type: "back_forward", entry: "e1" }, undefined, false)).toBe("k1");
  expect(keyOfRendering(ended, { ...here, type: "back_forward", entry: "e1" }, "token", false)).toBe("k1");
  expect(keyOfRendering(ended, { ...here, type: "back_forward", entry: "e7" }, undefined, false)).not.toBe("k1");
  const { entry: _, ...nameless } = ended;
  expect(keyOfRendering(nameless, { ...here, type: "back_forward", entry: undefined }, undefined, false)).toBe("k1");
});

test("what was only rendered is nobody's draft, unless it has a name", () => {
  const { digest: _, ...rendered } = sent;
  expect(keyOfRendering(rendered, here, undefined, false)).not.toBe("k1");
  expect(keyOfRendering(rendered, here, undefined, true)).toBe("k1");
  expect(keyOfRendering(undefined, here, undefined, true)).toMatch(/^[0-9a-f-]{36}$/);
});

test("edited content has another key; a token stays", () => {
  expect(keyOfSubmission("k1", sent, "d1", false)).toBe("k1");
  expect(keyOfSubmission("k1", sent, "d2", false)).not.toBe("k1");
  expect(keyOfSubmission("k1", sent, "d2", true)).toBe("k1");
  expect(keyOfSubmission("k9", sent, "d2", false)).toBe("k9"); // another rendering's key
  expect(keyOfSubmission("k1", undefined, "d2", false)).toBe("k1");
});

test("an outcome ends the draft of its key only", () => {
  const shelf = shelfOf({ ...sent });
  expect(settle(shelf, [{ id: "other", word: "executed", status: 303 }])).toEqual([]);
  expect(settle(shelf, [{ id: "k1", word: "unknown", status: 409 }])).toEqual([]);
  expect(shelf.record.ended).toBeUndefined();
  expect(settle(shelf, [{ id: "k1", word: "replayed", status: 303 }])).toHaveLength(1);
  expect(shelf.record.ended).toBe(true);
});

test.each([
  ["the answer", here, true],
  ["the answer, where entries have no names", { ...here, from: undefined }, true],
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
  settleByPage(shelf, arrival, () => false);
  expect(Boolean(shelf.record.ended)).toBe(ended);
});

test("a page ends no draft that an outcome speaks of, or that left for another reason", () => {
  const spoken = shelfOf({ ...sent, left: true });
  settleByPage(spoken, here, () => true);
  expect(spoken.record.ended).toBeFalsy();
  expect(spoken.record.left).toBe(false); // the next page is not its answer
  const strayed = shelfOf({ ...sent, left: false });
  settleByPage(strayed, here, () => false);
  expect(strayed.record.ended).toBeFalsy();
});
