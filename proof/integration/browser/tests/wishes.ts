import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, request as ask } from "node:http";
import { createInterface } from "node:readline";
import { expect } from "@playwright/test";
import { type Serving, gateway, serve } from "./behind.ts";
import { type Outcome, type Way, outcomeOf } from "./ways.ts";

// What drives the ways of ways.ts: a tab of any browser, the doors, and the network between them.

/** A tab, as a person uses it: acts wait for no page, unless they say so. */
export interface Tab {
  /** Opens a page and waits for it. */
  open(url: string): Promise<void>;
  /** Types an address, whatever is under way. */
  address(url: string): Promise<void>;
  /** Presses the mouse at a place of the page. gaps: what passes between two presses of one sequence, in milliseconds, in which the hand drifts by so many pixels. */
  click(x: number, y: number, how?: { keys?: ("Control" | "Shift")[]; middle?: boolean; gaps?: number[]; drift?: number }): Promise<void>;
  /** Presses keys one after the other: Enter, " ", Alt+s, or a letter. */
  press(...keys: string[]): Promise<void>;
  tap(x: number, y: number): Promise<void>;
  back(): Promise<void>;
  forward(): Promise<void>;
  reload(): Promise<void>;
  /** The title and the text of what is shown; "" between two pages. */
  title(): Promise<string>;
  text(): Promise<string>;
  /** Runs a script in the page. Needs scripts. */
  run(script: string): Promise<unknown>;
}

/** A person with a browser: a profile of its own and any number of tabs. */
export interface Person {
  tab(): Promise<Tab>;
  /** The tabs that the browser opened itself, the oldest first. */
  opened(): Promise<Tab[]>;
}

/** A way to send: forms of the gateway, forms of the library with its guard, or semelFetch. */
export type Door = "gateway" | "library" | "fetch";
const doors: readonly Door[] = ["gateway", "library", "fetch"];

/** What the network does to the next request that sends something. */
export type Fault = "lose-answer" | "lose-request" | "bad-gateway" | "gateway-timeout";

/** The network between a browser and a door, as one cell sees it. */
class Traffic {
  arrived = 0;
  answered = 0;
  underWay = 0;
  faults: Fault[] = [];
  private held: (() => void)[] | undefined;

  /** Holds answers back until they are released. */
  hold(): void {
    this.held ??= [];
  }

  release(): void {
    for (const go of this.held ?? []) go();
    this.held = undefined;
  }

  passed(): Promise<void> {
    return new Promise((go) => this.held ? void this.held.push(go) : go());
  }
}

/** The programs that a worker's cells share. */
export class Wishes {
  private readonly cells = new Map<string, Traffic>();
  private cell = 0;

  private constructor(
    private readonly program: ChildProcess, private readonly front: Serving, private readonly bare: string, private readonly inside: string,
    private readonly networks: Record<Door, Serving>,
  ) {}

  static async start(): Promise<Wishes> {
    const program = spawn(process.env.SEMEL_TEST_ORDERS!, { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface(program.stdout!)[Symbol.asyncIterator]();
    const [bare, inside] = [(await lines.next()).value as string, (await lines.next()).value as string];
    const front = await gateway(bare, "  - {name: orders, match: {methods: [POST], path: /orders}, form: true}\n");
    const networks = {} as Record<Door, Serving>;
    const wishes = new Wishes(program, front, bare, inside, networks);
    for (const door of doors) networks[door] = await wishes.network(door === "gateway" ? front.url : inside);
    return wishes;
  }

  async stop(): Promise<void> {
    for (const network of Object.values(this.networks)) await network.stop();
    await this.front.stop();
    this.program.stdin!.end();
    if (this.program.exitCode === null) await once(this.program, "exit");
  }

  private traffic(url: string): Traffic {
    const cell = new URL(url, "http://any").searchParams.get("cell") ?? "";
    const known = this.cells.get(cell) ?? new Traffic();
    this.cells.set(cell, known);
    return known;
  }

  /** Passes requests on, and does to them what their cell's traffic says. */
  private network(target: string): Promise<Serving> {
    return serve(async (request, response) => {
      const traffic = this.traffic(request.url!);
      const sends = request.method === "POST";
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      if (!sends) return void pass(target, request, chunks).then((answer) => answer.to(response), () => response.destroy());
      const fault = traffic.faults.shift();
      traffic.arrived++;
      traffic.underWay++;
      if (fault === "lose-request") response.destroy();
      else {
        const answer = await pass(target, request, chunks).catch(() => undefined);
        await traffic.passed();
        if (fault === "bad-gateway" || fault === "gateway-timeout") response.writeHead(fault === "bad-gateway" ? 502 : 504, { "Content-Type": "text/html" }).end("<title>Proxy error</title>");
        else if (fault === "lose-answer" || !answer) response.destroy();
        else answer.to(response);
      }
      traffic.underWay--;
      traffic.answered++;
    });
  }

  /** Tries one way, and compares what came of it with what the table says. */
  async try(way: Way, door: Door, words: readonly string[], person: Person): Promise<void> {
    const outcome = outcomeOf(way, [door, ...words]) as Outcome;
    const cell = String(++this.cell);
    const url = (path: string, more: Record<string, string> = {}) => `${this.networks[door].url}${path}?${new URLSearchParams({ cell, ...more })}`;
    const traffic = this.traffic(url("/"));
    const form = url("/new", { door, form: way.form ?? "", answer: way.answer ?? "303", wait: String(way.wait ?? 0), cookie: way.cookie ?? "", ...(way.stays && door === "fetch" ? { stays: "" } : {}) });
    const scripts = !words.includes("off");
    const ready = async (tab: Tab) => {
      await shows(tab, /^New$/);
      if (scripts) await expect.poll(() => tab.run("document.readyState").catch(() => ""), polling).toBe("complete");
    };
    const tab = await person.tab();
    const scene: Scene = {
      tab, person, door, scripts, form, url, faults: traffic.faults, ready,
      broken: words.includes("firefox") ? /^(?!New|order)./ : /^(?!New|order)/,
      open: async (other = tab) => {
        await other.open(form);
        await ready(other);
      },
      send: (other = tab) => other.click(...first),
      arrived: (count) => expect.poll(() => traffic.arrived, { ...polling, message: "requests that came" }).toBeGreaterThanOrEqual(count),
      answered: (count) => expect.poll(() => traffic.answered, { ...polling, message: "answers that were sent" }).toBeGreaterThanOrEqual(count),
      until: (what) => expect.poll(() => what().catch(() => false), polling).toBe(true),
      hold: () => traffic.hold(),
      release: () => traffic.release(),
      done: (other = tab) => shows(other, /^order-\d+$/),
      back: async (other = tab) => {
        await other.back();
        await ready(other);
      },
      rows: async () => Number(await (await fetch(`${door === "gateway" ? this.bare : this.inside}/rows?cell=${cell}`)).text()),
    };
    await tab.open(url("/start")); // where Back leads from the form
    await scene.open();
    if (way.before) await tab.run(way.before);
    await way.act(scene);
    traffic.release();
    await expect.poll(() => traffic.underWay, polling).toBe(0);
    const said = async () => (await Promise.all([tab, ...(await person.opened())].map((each) => each.text().catch(() => "")))).join("\n");
    if (typeof outcome === "object") await expect.poll(said, polling).toContain(outcome.refused);
    if (outcome === "new") expect(await said()).not.toContain("already sent");
    expect(await scene.rows(), way.name).toBe(typeof outcome === "object" ? (outcome.rows ?? 0) : outcome === "one" ? 1 : 2);
    this.cells.delete(cell);
  }
}

/** Where the first field is, the buttons of class a and b, and the link to the page itself. */
export const field = [40, 18] as const;
export const first = [80, 120] as const;
export const second = [220, 120] as const;
export const link = [80, 220] as const;

const polling = { intervals: [10, 20, 50, 100], timeout: 30_000 };

/** Waits until the tab shows a page with this title. */
export async function shows(tab: Tab, title: RegExp): Promise<void> {
  await expect.poll(() => tab.title().catch(() => ""), polling).toMatch(title);
}

/** What a way has to do with. */
export interface Scene {
  tab: Tab;
  person: Person;
  door: Door;
  scripts: boolean;
  /** The titles of pages that say that it did not work: none for Chromium's own, and in Firefox for the time between two pages. */
  broken: RegExp;
  /** The address of the form, and of other pages. */
  form: string;
  url(path: string, more?: Record<string, string>): string;
  /** What the network does to the next requests. */
  faults: Fault[];
  /** Opens the form, fills it by its own values, and waits until its scripts are at work. */
  open(tab?: Tab): Promise<void>;
  ready(tab: Tab): Promise<void>;
  /** Presses the form's button. */
  send(tab?: Tab): Promise<void>;
  /** Waits until so many requests have come. */
  arrived(count: number): Promise<void>;
  answered(count: number): Promise<void>;
  until(what: () => Promise<boolean>): Promise<void>;
  hold(): void;
  release(): void;
  /** Waits until the tab shows the order. */
  done(tab?: Tab): Promise<void>;
  /** Goes back, and waits for the form. */
  back(tab?: Tab): Promise<void>;
  rows(): Promise<number>;
}

interface Answer {
  to(response: ServerResponse): void;
}

/** Sends a request on and reads its answer. The browser's own connection is of no concern. */
function pass(target: string, { method, url, headers }: IncomingMessage, body: Buffer[]): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const onward = ask(target + url, { method, headers: { ...headers }, setHost: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("error", reject);
      answer.on("end", () => resolve({ to: (response) => void response.writeHead(answer.statusCode!, answer.rawHeaders).end(Buffer.concat(chunks)) }));
    });
    onward.on("error", reject);
    onward.end(Buffer.concat(body));
  });
}
