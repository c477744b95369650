import { clicks, listen } from "./clicks.js";
import { newKey } from "./key.js";
import type { Content } from "./page-content.js";
import { count } from "./page-counts.js";
import type { Asked } from "./page-route.js";
import { attempt } from "./storage.js";

/** The most wishes that are remembered, and for how long, in milliseconds. */
const most = 64;
const dayMs = 24 * 60 * 60_000;
const item = "semel-page";

/** A further click sends within this time, in milliseconds: later requests are a timer's. */
const furtherMs = 2000;
let clickedAt = 0;
listen("click", () => (clickedAt = performance.now()));

type Kept = [digest: string, key: string, at: number];

/** The wishes without an answer that the tab keeps, in one item. Without storage this page remembers them. */
const kept = (): Kept[] => attempt(() => (JSON.parse(sessionStorage.getItem(item)!) as Kept[]).filter(Array.isArray)) ?? [];

/** Keeps one more, or one less. */
function store(wish: Sent, ...more: Kept[]): void {
  const others = kept().filter(([, key]) => key !== wish.key_);
  attempt(() => sessionStorage.setItem(item, JSON.stringify([...others, ...more].slice(-most))));
}

/** A wish of the person: its requests carry one key. */
export interface Sent {
  /** The gateway knows it by its beginning, and then leaves it to this script which content it is for. */
  key_: string;
  /** The click sequence that sent it first. */
  turn_: number;
  /** A whole definitive answer came. */
  ended_?: boolean;
  /** The answer is definitive, and being read. */
  reading_?: Promise<unknown> | undefined;
}

/** What this page sent, by content; the oldest first. */
const sent = new Map<string, Sent>();

/** What was sent with this content and has no answer. */
export function sentBefore(digest: string): Sent | undefined {
  const before = sent.get(digest);
  if (before) return before.ended_ ? undefined : before;
  const found = kept().find(([each, , at]) => each === digest && Math.abs(Date.now() - at) < dayMs); // a clock may have been set back
  return found && keep({ key_: found[1], turn_: -1 }, digest);
}

/**
 * The wish that this content, which is about to be sent, belongs to: one without an answer, or that of the same click sequence. rough is its digest without what may only be the state of the page:
 * it counts within a click sequence.
 */
export function wishOf(digest: string, rough = digest): Sent {
  const before = sentBefore(digest);
  if (before) return before;
  const first = sent.get(rough);
  if (clicks.further_ && performance.now() - clickedAt < furtherMs && first?.turn_ === clicks.turn_) return first;
  const wish = { key_: `semel-page-${newKey()}`, turn_: clicks.turn_ };
  store(wish, [digest, wish.key_, Date.now()]);
  keep(wish, rough);
  return keep(wish, digest);
}

function keep(wish: Sent, digest: string): Sent {
  sent.delete(digest);
  sent.set(digest, wish);
  for (const [old] of sent) if (sent.size > 2 * most) sent.delete(old);
  return wish;
}

/** Gives a request the key of its wish, or counts why it gets none. */
export function sign({ route }: Asked, headers: Headers, content: Content): Sent | undefined {
  if (typeof content !== "string") {
    const wish = wishOf(...content);
    headers.set(route.header, `"${wish.key_}"`); // it needs nothing more to be quoted
    return wish;
  }
  if (content) count(route.name, content);
  return undefined;
}

/** A whole definitive answer came: the same content is another wish from now on, but within the click sequence. */
export function end(wish: Sent): void {
  wish.ended_ = true;
  store(wish);
}
