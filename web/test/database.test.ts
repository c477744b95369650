import { IDBFactory } from "fake-indexeddb";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Database, got } from "../src/queue/database.js";

let factory: IDBFactory;

beforeEach(() => {
  factory = new IDBFactory();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }); // the database itself waits by setImmediate
});

afterEach(() => {
  vi.useRealTimers();
});

const put = (database: Database, value: string): Promise<unknown> =>
  database.transact("readwrite", (tx) => got(tx.store("state").put(value, "k")));
const get = (database: Database): Promise<unknown> => database.transact("readonly", (tx) => got(tx.store("state").get("k")));
const soon = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const open = (version: number): Promise<IDBDatabase> =>
  got(factory.open("q", version));

/** Keeps a transaction of another tab open until the returned function is called. */
async function hold(): Promise<() => void> {
  const tx = (await open(1)).transaction("state", "readwrite");
  let ended = false;
  const more = (): void => {
    if (!ended) tx.objectStore("state").get("k").onsuccess = more;
  };
  more();
  return () => (ended = true);
}

test("a transaction that gets no turn is undone, and not carried out later", async () => {
  const mine = new Database("q", () => factory);
  await put(mine, "before");
  const release = await hold();
  const refused = expect(put(mine, "late")).rejects.toMatchObject({ code: "storage-failed" });
  await soon();
  await vi.advanceTimersByTimeAsync(9_000);
  const patient = get(mine); // begun a second before
  await vi.advanceTimersByTimeAsync(1_000);
  await refused;
  release();
  expect(await patient).toBe("before");
  await put(mine, "after");
  expect(await get(mine)).toBe("after");
});

test("a transaction whose commit takes long is not called undone", async () => {
  const slow = new Database("q", () => ({
    open: (name: string, version: number) => {
      const request = factory.open(name, version);
      request.addEventListener("success", () => slowCommits(request.result));
      return request;
    },
  }) as IDBFactory);
  let answer: unknown = "none yet";
  const stored = put(slow, "kept").then((key) => (answer = key));
  for (let i = 0; i < 100; i++) await soon();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(answer).toBe("none yet");
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await stored).toBe("k");
  expect(await get(new Database("q", () => factory))).toBe("kept");
});

/** Lets the news of each commit come 30 s late. */
function slowCommits(database: IDBDatabase): void {
  const begin = database.transaction.bind(database);
  database.transaction = (...args) => {
    const tx = begin(...args);
    Object.defineProperty(tx, "oncomplete", { set: (told: () => void) => tx.addEventListener("complete", () => setTimeout(told, 30_000)) });
    return tx;
  };
}

test("a connection that comes after its caller gave up is closed", async () => {
  const old = await open(1);
  old.onversionchange = () => undefined; // it does not let go
  let opened: IDBDatabase | undefined;
  const database = new Database("q", () => ({
    open: (name: string) => {
      const request = factory.open(name, 2);
      request.addEventListener("success", () => (opened = request.result));
      return request;
    },
  }) as IDBFactory);
  const refused = expect(get(database)).rejects.toMatchObject({ code: "storage-blocked" });
  await soon();
  await vi.advanceTimersByTimeAsync(5_000);
  await refused;
  old.close();
  for (let i = 0; i < 1_000 && !opened; i++) await soon();
  expect(() => opened?.transaction("state")).toThrow(expect.objectContaining({ name: "InvalidStateError" }));
});
