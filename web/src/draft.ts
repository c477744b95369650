import { newKey } from "./key.js";
import { definitivePage, ends, idOf, type Outcome } from "./outcome.js";
import type { Record, Shelf } from "./storage.js";

/** How the current page came to be. */
export interface Arrival {
  /** PerformanceNavigationTiming.type. */
  type: string;
  /** The status of the page, or 0 when the browser does not say. */
  status: number;
  /** The history entry of this page, and the one it followed. Undefined where the browser does not say. */
  entry?: string | undefined;
  from?: string | undefined;
  /** The address of the page that led here. */
  referrer: string;
  /** The address of this page, without its fragment. */
  page: string;
}

/** Reads how the current page came to be. */
export function arrival(window: Window): Arrival {
  const [timing] = performance.getEntriesByType("navigation") as (PerformanceNavigationTiming & { responseStatus?: number })[];
  const { navigation } = window as { navigation?: { currentEntry?: Entry; activation?: { from?: Entry } } };
  return {
    type: timing?.type ?? "navigate",
    status: timing?.responseStatus ?? 0,
    entry: navigation?.currentEntry?.key,
    from: navigation?.activation?.from?.key,
    referrer: window.document.referrer,
    page: window.location.href.replace(/#.*/, ""),
  };
}

interface Entry {
  key: string;
}

/**
 * The key for a rendering of a form. A draft that was sent and has no definitive answer keeps its key, and so does the
 * same rendering that came back by Back. Everything else is a new draft. given is the gateway's token, if there is one.
 */
export function keyOfRendering(record: Record | undefined, here: Arrival, given: string | undefined, named: boolean): string {
  const pending = record && !record.ended && (record.digest !== undefined || named);
  if (pending || (record && here.type === "back_forward" && samePage(record, here))) return record.key;
  return given ?? newKey();
}

function samePage(record: Record, here: Arrival): boolean {
  return record.entry !== undefined && here.entry !== undefined
    ? record.entry === here.entry
    : record.page === here.page;
}

/**
 * The key for a submission with this content. A gateway's token is always kept: with other content it is another
 * operation there. A key of ours names one content, so edited content gets another key.
 */
export function keyOfSubmission(current: string, record: Record | undefined, digest: string, token: boolean): string {
  if (token || record?.key !== current || record.digest === undefined || record.digest === digest) return current;
  return newKey();
}

/** Ends the drafts that these outcomes speak of. Returns each with its record, the repetitions to tell about among them. */
export function settle(shelf: Shelf, outcomes: readonly Outcome[]): { outcome: Outcome; record: Record }[] {
  const settled = [];
  for (const name of shelf.names()) {
    const record = shelf.get(name);
    const id = record && idOf(record.key);
    const outcome = outcomes.findLast((each) => each.id === id);
    if (!record || !outcome || record.digest === undefined || !ends(outcome)) continue;
    if (!record.ended) shelf.put(name, { ...record, ended: true });
    settled.push({ outcome, record });
  }
  return settled;
}

/**
 * Ends the draft that this page is the answer to, when no outcome speaks of it: its form's page went away for this
 * submission's sake, this page followed it directly, and its status is definitive.
 */
export function settleByPage(shelf: Shelf, here: Arrival, spokenOf: (record: Record) => boolean): void {
  if (here.type !== "navigate") return;
  for (const name of shelf.names()) {
    const record = shelf.get(name);
    if (!record?.left) continue;
    const followed = here.from !== undefined ? here.from === record.entry : here.referrer !== "" && here.referrer === record.page;
    const ended = record.ended || (followed && definitivePage(here.status) && !spokenOf(record));
    shelf.put(name, { ...record, left: false, ended });
  }
}
