import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { IDBFactory } from "fake-indexeddb";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { semelFetch } from "../src/fetch.js";
import { Queue } from "../src/queue/queue.js";
import { useIntent as useReactIntent } from "../src/react.js";
import { SemelError } from "../src/send.js";
import { useIntent as useVueIntent } from "../src/vue.js";

interface Case {
  case: string;
  status: number;
  framing: string;
  text?: string;
  times?: number;
  verdict: "answer" | "again" | "rest";
}

const vectors = new URL("../../testdata/vectors/answers.json", import.meta.url);
const all = (JSON.parse(readFileSync(vectors, "utf8")) as { cases: Case[] }).cases;
const cases = all.filter((each) => each.framing !== "http2"); // which Node's fetch does not speak: see proof/integration/browser

let server: ChildProcess;
let origin: string;

beforeAll(async () => {
  server = spawn(process.env.SEMEL_TEST_ANSWERS ?? "run scripts/test-web", [vectors.pathname], { stdio: ["pipe", "pipe", "inherit"] });
  origin = (await createInterface(server.stdout!)[Symbol.asyncIterator]().next()).value as string;
});

afterAll(() => void server.kill());

const post = { method: "POST", body: "{}" };

/** What a press of one wish comes to: the answer's status and body, or why there is none. */
type Press = (url: string) => Promise<{ status: number; body: string } | SemelError>;

async function read(response: Response): Promise<{ status: number; body: string }> {
  return { status: response.status, body: await response.text() };
}

const failed = (error: unknown): SemelError => {
  expect(error).toBeInstanceOf(SemelError);
  return error as SemelError;
};

/** The keys of the requests that came to an address. */
async function keys(url: string): Promise<string[]> {
  return (await (await fetch(url)).json()) as string[];
}

/** How each entry sends one wish, however often the person presses. */
const entries: Record<string, () => Press> = {
  semelFetch: () => (url) => semelFetch(url, post, { intent: "order", attempts: 3 }).then(read).catch(failed),
  vue: () => {
    const { progress, send } = useVueIntent("order", { attempts: 3 });
    return async (url) => {
      const response = await send(url, post);
      return response ? read(response).catch(failed) : failed(progress.value.error);
    };
  },
  react: () => {
    let send: ReturnType<typeof useReactIntent>["send"] | undefined;
    renderToString(createElement(() => ((send = useReactIntent("order", { attempts: 3 }).send), null)));
    return async (url) => {
      const response = await send!(url, post);
      return response ? read(response).catch(failed) : new SemelError("network", "", true);
    };
  },
};

test("there are cases enough", () => expect(cases.length).toBeGreaterThan(50));

describe.each(Object.keys(entries))("%s", (name) => {
  test.each(cases)("$case", async ({ case: title, status, text = "", times = 1, verdict }) => {
    vi.spyOn(Math, "random").mockReturnValue(0); // no pause between attempts
    const url = `${origin}/${name}/${encodeURIComponent(title)}`;
    const press = entries[name]!();
    let got = await press(url);
    if (verdict === "rest") {
      expect(got).toMatchObject({ kind: "unknown", retryable: true });
      got = await press(url);
    }
    const want = verdict === "answer" ? { status, body: text.repeat(times) } : { status: 201, body: "again" };
    expect(got).toEqual(want);
    expect(await keys(url)).toHaveLength(verdict === "answer" ? 1 : 2);
    expect(new Set(await keys(url)).size).toBe(1);
    await entries[name]!()(url); // the wish has ended: another call, or another component's, is another one
    expect(new Set(await keys(url)).size).toBe(2);
  });
});

describe("queue", () => {
  test.each(cases)("$case", async ({ case: title, status, verdict }) => {
    let now = Date.now();
    const queue = new Queue({
      environment: { indexedDB: () => factory, fetch: (...request) => fetch(...request), locks: undefined, now: () => now },
    });
    const factory = new IDBFactory();
    const url = `${origin}/queue/${encodeURIComponent(title)}`;
    await queue.add(url, { body: {} });
    await queue.drain();
    for (let n = 0; n < 3 && (await queue.list())[0]!.state === "waiting"; n++) {
      now += 24 * 60 * 60_000;
      await queue.drain();
    }
    expect((await queue.list())[0]!.state).toBe(verdict === "answer" && status >= 400 ? "set-aside" : "done");
    expect(await keys(url)).toHaveLength(verdict === "answer" ? 1 : 2);
    expect(new Set(await keys(url)).size).toBe(1);
    await queue.close();
  });
});
