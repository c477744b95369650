import { waitMs, type Entry, type Reason } from "./entry.js";

/** What can be sent now, and what holds the others back. */
export interface Plan {
  /** In their order; at most one of each group. */
  send: Entry[];
  /** How long until something else may be sent, in milliseconds; undefined when only an event changes that. */
  wakeMs: number | undefined;
  /** Why entries wait that have no reason of their own, by id. */
  held: Map<string, Reason>;
}

export interface PlanOptions {
  now: number;
  /** Ids that are being sent by the caller. */
  busy?: ReadonlySet<string>;
  /** The network may be back: what had no answer does not wait any longer. */
  hurry?: boolean;
}

/**
 * Decides what to send. entries are one owner's, in the order of seq.
 *
 * An entry holds back those behind it in its group until it has ended. One that
 * was set aside does not, and neither do those that need its answer: they wait
 * for the person's decision, the others go on. A parent always comes before
 * its children, so the first entry that is not held can always be sent.
 */
export function plan(entries: readonly Entry[], { now, busy = new Set(), hurry = false }: PlanOptions): Plan {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const result: Plan = { send: [], wakeMs: undefined, held: new Map() };
  const wake = (ms: number): void => void (result.wakeMs = Math.min(ms, result.wakeMs ?? ms));
  const pause = Math.max(0, ...entries.filter(asksToSignIn).map((entry) => waitMs(entry, now)));
  if (pause > 0) wake(pause);
  const closed = new Set<string>();
  for (const entry of entries) {
    if (entry.state === "done" || entry.state === "set-aside") continue;
    const parent = entry.after === undefined ? undefined : byId.get(entry.after);
    if (entry.after !== undefined && (parent === undefined || parent.state === "set-aside" || stuck(result, parent))) {
      result.held.set(entry.id, { word: "parent-set-aside" });
      continue;
    }
    if (entry.after !== undefined) result.held.set(entry.id, { word: "parent" });
    const first = !closed.has(entry.group);
    closed.add(entry.group);
    if (!first || entry.after !== undefined || busy.has(entry.id) || pause > 0) continue;
    const wait = hurry && entry.reason?.word === "no-answer" ? 0 : waitMs(entry, now);
    if (wait > 0) wake(wait);
    else result.send.push(entry);
  }
  return result;
}

function asksToSignIn(entry: Entry): boolean {
  return entry.state === "waiting" && entry.reason?.word === "sign-in";
}

function stuck(result: Plan, parent: Entry): boolean {
  return result.held.get(parent.id)?.word === "parent-set-aside";
}
