import { expect, test } from "vitest";
import { maxRecords, shelf } from "../src/storage.js";

/** A storage in memory that can be full. */
class Box {
  [name: string]: unknown;
  constructor(room: number) {
    const hidden = (name: string, value: unknown) => Object.defineProperty(this, name, { value });
    hidden("getItem", (name: string) => (Object.hasOwn(this, name) ? this[name] : null));
    hidden("removeItem", (name: string) => delete this[name]);
    hidden("setItem", (name: string, value: string) => {
      if (Object.keys(this).length >= room && !Object.hasOwn(this, name)) throw new DOMException("full", "QuotaExceededError");
      this[name] = value;
    });
  }
}

const box = (room = Infinity) => new Box(room) as unknown as Storage;

test("records survive the script, and a page's own entries are left alone", () => {
  const storage = box();
  storage.setItem("theirs", "1");
  shelf(() => storage).put("form:a", { key: "k", digest: "d" });
  const again = shelf(() => storage);
  expect(again.get("form:a")).toMatchObject({ key: "k", digest: "d" });
  expect(again.names()).toEqual(["form:a"]);
  again.drop("form:a");
  expect(again.get("form:a")).toBeUndefined();
  expect(storage.getItem("theirs")).toBe("1");
});

test.each([
  ["forbidden", () => { throw new DOMException("no", "SecurityError"); }],
  ["full", () => full],
])("storage that is %s: the page remembers", (_, open) => {
  const kept = shelf(open as () => Storage);
  kept.put("form:a", { key: "k" });
  expect(kept.get("form:a")?.key).toBe("k");
  expect(kept.names()).toContain("form:a");
  kept.drop("form:a");
  expect(kept.get("form:a")).toBeUndefined();
});
const full = box(0);

test("what is in memory because storage was full does not hide what is stored later", () => {
  const storage = box(1);
  const kept = shelf(() => storage);
  storage.setItem("theirs", "1");
  kept.put("a", { key: "memory" });
  storage.removeItem("theirs");
  kept.put("a", { key: "stored" });
  expect(kept.get("a")?.key).toBe("stored");
  expect(shelf(() => storage).get("a")?.key).toBe("stored");
});

test("damaged records do not count", () => {
  const storage = box();
  for (const text of ["", "{", "null", "7", '{"key":7}', "[]"]) {
    storage.setItem("semel:a", text);
    expect(shelf(() => storage).get("a")).toBeUndefined();
  }
});

test("the oldest are forgotten first, and there are never too many", () => {
  const storage = box();
  const kept = shelf(() => storage);
  for (let n = 0; n < maxRecords; n++) {
    kept.put(`r${n}`, { key: "k" });
    storage.setItem(`semel:r${n}`, JSON.stringify({ key: "k", at: n })); // whatever the clock says
  }
  kept.put("new", { key: "k" });
  expect(kept.names()).toHaveLength(maxRecords);
  expect(kept.get("r0")).toBeUndefined();
  expect(kept.get("r1")).toBeDefined();
  expect(kept.get("new")).toBeDefined();
});

test("a page of many forms does not push out what waits for its answer", () => {
  const storage = box();
  const crowded = shelf(() => storage);
  crowded.put("pending", { key: "k", digest: "d" });
  for (let n = 0; n < 2 * maxRecords; n++) crowded.put(`row${n}`, { key: "k" });
  expect(crowded.names()).toHaveLength(maxRecords);
  expect(crowded.get("pending")).toBeDefined();
});
