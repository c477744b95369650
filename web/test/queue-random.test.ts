import { expect, test } from "vitest";
import type { Item, Queue } from "../src/queue/queue.js";
import { Browser, home, randomOf, Server, type Fault, type Seen } from "./queue-world.js";

// What people, networks, servers and clocks do, at random, against a model: a
// server that keeps keys. However it goes, every intent that add() kept is
// carried out exactly once, or is set aside with its reason; groups keep their
// order; children come after their parents, with the right values.

const faults: Fault[] = ["drop", "lose", "cut", "503", "retry-after", "in-flight", "401", "throttled", "none", "none"];
const groups = ["a", "b", "c"];
const seeds = Number(process.env.SEMEL_QUEUE_SEEDS ?? 8);

interface Wish {
  word: string;
  group: string;
  poison: boolean;
  parent: string | undefined;
  id: string;
}

const wordOf = ({ body }: Pick<Seen, "body">) => (JSON.parse(body) as { word: string }).word;

/** Plays one history, and returns what was wished for, and the browser as it is at the end. */
async function play(seed: number, leaseMs: number | undefined) {
  const random = randomOf(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const server = new Server();
  const browser = new Browser(server, random, leaseMs);
  const stormy = random();
  server.fault = () => (random() < stormy ? pick(faults) : "none");
  server.refuses = ({ body }) => body.includes("poison");
  const wishes: Wish[] = [];
  let tabs = [browser.tab(), browser.tab()];

  const add = async (queue: Queue): Promise<void> => {
    const poison = random() < 0.1;
    const parent = random() < 0.4 ? pick(wishes) : undefined;
    const word = `${poison ? "poison" : "wish"}${wishes.length}`;
    const wish: Wish = { word, group: pick(groups), poison, parent: parent?.word, id: "" };
    // A parent whose entry is not kept any more is refused, and then nothing is kept.
    const added = await queue.add(`${home}/wishes${parent ? "/{of}" : ""}`, {
      body: { word }, group: wish.group, label: word, ...(parent && { after: parent.id, fill: { "{of}": "/id", "/of": "/id" } }),
    });
    wishes.push({ ...wish, id: added.id });
  };
  for (let step = 0; step < 40; step++) {
    const tab = pick(tabs);
    const dice = random();
    if (dice < 0.5) await add(tab.queue);
    else if (dice < 0.65) await tab.queue.hurry();
    else if (dice < 0.75) void tab.queue.drain().catch(() => undefined);
    else if (dice < 0.85) browser.now += Math.floor((random() - 0.3) * 3_600_000);
    else if (dice < 0.9) await tab.queue.resume();
    else if (leaseMs === undefined || random() < 0.3) { // a crash; without locks it costs the others the lease's time
      tab.kill();
      tabs = tabs.map((one) => (one === tab ? browser.tab() : one));
    }
  }
  server.fault = () => "none";
  for (const { kill } of tabs) kill();
  return { server, browser, wishes, queue: browser.tab().queue };
}

/** Lets everything settle: the faults are over, and time passes. */
async function calm(browser: Browser, queue: Queue): Promise<Item[]> {
  for (let round = 0; round < 50; round++) {
    browser.now += 2 * 3_600_000;
    await queue.drain();
    const items = await queue.list();
    if (!items.some(({ state, reason }) => state === "sending" || (state === "waiting" && reason?.word !== "parent-set-aside"))) return items;
  }
  throw new Error(`it does not settle: ${JSON.stringify(await queue.list(), null, 1)}`);
}

test.each([["with Web Locks", undefined, seeds], ["without Web Locks", 40, Math.ceil(seeds / 4)]])("%s", async (_, leaseMs, count) => {
  for (let seed = 1; seed <= count; seed++) {
    const { server, browser, wishes, queue } = await play(seed, leaseMs);
    const items = new Map((await calm(browser, queue)).map((item) => [item.label, item]));
    const done = server.done.map(wordOf);
    const about = `seed ${seed}`;
    expect(new Set(done).size, `${about}: carried out once`).toBe(done.length);

    const doomed = new Set<string>();
    for (const { word, poison, parent } of wishes) if (poison || (parent !== undefined && doomed.has(parent))) doomed.add(word);
    const wanted = wishes.filter(({ word }) => !doomed.has(word));
    expect([...done].sort(), `${about}: nothing lost, nothing invented`).toEqual(wanted.map(({ word }) => word).sort());
    for (const word of doomed) expect(items.get(word)?.reason, `${about}: ${word} tells why`).toBeDefined();
    for (const group of groups) {
      const order = wanted.filter((wish) => wish.group === group).map(({ word }) => word);
      expect(done.filter((word) => order.includes(word)), `${about}: the order of group ${group}`).toEqual(order);
    }
    const ids = new Map(server.done.map((one) => [wordOf(one), one.id]));
    for (const one of server.done) {
      const { parent } = wishes.find(({ word }) => word === wordOf(one))!;
      if (parent === undefined) continue;
      expect(one.url, about).toBe(`${home}/wishes/${ids.get(parent)}`);
      expect(JSON.parse(one.body), about).toMatchObject({ of: ids.get(parent) });
      expect(done.indexOf(parent), about).toBeLessThan(done.indexOf(wordOf(one)));
    }
    if (leaseMs === undefined) expect(browser.locks.most, about).toBe(1);
    await queue.close();
  }
}, seeds * 5_000);
