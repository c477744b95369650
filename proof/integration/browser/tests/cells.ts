import type { Fixtures, TestType } from "@playwright/test";
import { type Outcome, type Way, outcomeOf, ways } from "./ways.ts";
import { type Door, type Person, Wishes } from "./wishes.ts";

// The table of ways.ts as tests: its rows are ways, its columns the doors with scripts and without, in each engine.

/** What an engine gives to its cells. */
interface Given {
  someone: Person;
}

/** The programs that the cells of a worker share. */
export const wishes: Fixtures<object, { wishes: Wishes }> = {
  wishes: [
    async ({}, use) => {
      const started = await Wishes.start();
      await use(started);
      await started.stop();
    },
    { scope: "worker" },
  ],
};

export type Engine = "chromium" | "firefox" | "webkit";

/** A way through a door in an engine: what has to come of it, or why this engine cannot go it there. */
interface Cell {
  way: Way;
  door: Door;
  words: string[];
  column: string;
  outcome: Outcome;
}

/** The columns of an engine. semelFetch is a script, so it has no column without them. */
const columns = [["gateway"], ["library"], ["fetch"], ["gateway", "off"], ["library", "off"]] as const;

/** The cells of the table in an engine, and for each column the ways that it cannot have, with the reason. */
export function cells(engine: Engine): { cells: Cell[]; impossible: Map<string, Map<string, string[]>> } {
  const found: Cell[] = [];
  const impossible = new Map<string, Map<string, string[]>>();
  for (const [door, ...off] of columns) {
    const words = [engine, ...off];
    const column = [engine, door, ...off].join(" ");
    const reasons = new Map<string, string[]>();
    impossible.set(column, reasons);
    for (const way of ways) {
      const outcome = outcomeOf(way, [door, ...words]);
      if (typeof outcome !== "object" || "refused" in outcome) found.push({ way, door, words, column, outcome });
      else reasons.set(outcome.impossible, [...(reasons.get(outcome.impossible) ?? []), way.name]);
    }
  }
  return { cells: found, impossible };
}

/** Goes the cells of an engine with scripts, or those without. */
export function go(test: TestType<Given, { wishes: Wishes }>, engine: Engine, off: boolean): void {
  for (const { way, door, words, column, outcome } of cells(engine).cells) {
    if (words.includes("off") !== off) continue;
    const description = `${column}: ${typeof outcome === "object" ? "refused" : outcome}`;
    test(`${column}: ${way.name}`, { tag: way.short ? [] : "@table", annotation: { type: "cell", description } }, async ({ someone, wishes }) => {
      await wishes.try(way, door, words, someone);
    });
  }
}
