import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { IDBFactory } from "fake-indexeddb";
import { expect, test } from "vitest";
import { semelFetch } from "../src/fetch.js";
import { Queue, type QueueOptions } from "../src/queue/queue.js";

// Every option of the server's middleware, which internal/pairs serves: it loses the first answer of every order.
interface Row {
  name: string;
  /** What a refusal names; "" where there is none. */
  names: string;
}

const body = { id: "order-17" };

/** Starts a server of its own, whose rows have no orders. */
async function serve(): Promise<{ url: string; rows: Row[]; end: () => void }> {
  const server: ChildProcess = spawn(process.env.SEMEL_TEST_PAIRS ?? "run scripts/test-web", [], { stdio: ["pipe", "pipe", "inherit"] });
  const url = (await createInterface(server.stdout!)[Symbol.asyncIterator]().next()).value as string;
  return { url, rows: (await (await fetch(url + "/rows")).json()) as Row[], end: () => void server.kill() };
}

async function effects(url: string, { name }: Row): Promise<number> {
  return (await (await fetch(`${url}/${name}/effects`)).json()) as number;
}

test("semelFetch", async () => {
  const { url, rows, end } = await serve();
  expect(rows.length).toBeGreaterThan(20);
  await Promise.all(rows.map(async (row) => {
    const init = { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
    const response = await semelFetch(`${url}/${row.name}/orders`, init);
    const text = await response.text();
    if (row.names) expect(text, row.name).toContain(row.names);
    expect([response.status, await effects(url, row)], row.name).toEqual(row.names ? [400, 0] : [201, 1]);
    if (!row.names) expect(text, row.name).toBe("1\n");
  }));
  end();
}, 60_000);

test.each([["the usual header", {}], ["the header that some rows read", { header: "X-Order-Key" }]])("the queue with %s", async (_, options: QueueOptions) => {
  const { url, rows, end } = await serve();
  const factory = new IDBFactory();
  const queue = new Queue({ ...options, environment: { indexedDB: () => factory, locks: undefined } });
  for (const row of rows) await queue.add(`${url}/${row.name}/orders`, { body, label: row.name, group: row.name });
  await expect.poll(async () => {
    await queue.hurry();
    return (await queue.list()).filter(({ state }) => state === "waiting" || state === "sending").length;
  }, { timeout: 50_000 }).toBe(0);
  const other = options.header !== undefined;
  for (const item of await queue.list()) {
    const row = rows.find(({ name }) => name === item.label)!;
    const refused = other ? row.name === "required" : row.names !== "";
    expect([item.state, await effects(url, row)], row.name).toEqual(refused ? ["set-aside", 0] : ["done", other && !row.names && blind(row) ? 2 : 1]);
    if (refused) expect(item.reason?.status, row.name).toBe(400);
  }
  await queue.close();
  end();
}, 60_000);

/** The server finds a key in the usual header alone: Required refuses other requests. */
function blind({ name }: Row): boolean {
  return name !== "json-member" && name !== "derived" && name !== "required";
}
