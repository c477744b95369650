import { clicks } from "./clicks.js";
import { newKey } from "./key.js";
import { maxRecords, shelf } from "./storage.js";

const dayMs = 24 * 60 * 60_000;
const tab = shelf(() => sessionStorage);

/** What the person wants of a server: these requests are one, and carry one key. */
export interface Sent {
  key_: string;
  /** The digest of the content. */
  digest_: string;
  /** The click sequence that sent it first. */
  turn_: number;
  /** A whole definitive answer came. */
  ended_?: boolean;
  /** The answer is definitive, and being read. */
  reading_?: Promise<unknown> | undefined;
}

/** What this page sent, by content; the oldest first. */
const sent = new Map<string, Sent>();

/** Whether the person is still at the click sequence that sent it. */
export function isAgain({ turn_ }: Sent): boolean {
  return clicks.further_ && turn_ === clicks.turn_;
}

/** What was sent with this content and has no answer, or belongs to the same click sequence. */
export function sentBefore(digest: string): Sent | undefined {
  const before = sent.get(digest);
  if (before) return before.ended_ && !isAgain(before) ? undefined : before;
  const record = tab.get(`page:${digest}`);
  if (!record || Math.abs(Date.now() - record.at) > dayMs) return undefined;
  return keep({ key_: record.key, digest_: digest, turn_: -1 }, digest);
}

/**
 * The wish that this content, which is about to be sent, belongs to. rough is its digest without what may only be the state of the page:
 * it counts within a click sequence.
 */
export function wishOf(digest: string, rough = digest): Sent {
  const before = sentBefore(digest);
  if (before) return before;
  const first = sent.get(rough);
  if (first && isAgain(first)) return first;
  const wish = { key_: newKey(), digest_: digest, turn_: clicks.turn_ };
  tab.put(`page:${digest}`, { key: wish.key_, digest });
  keep(wish, rough);
  return keep(wish, digest);
}

function keep(wish: Sent, digest: string): Sent {
  sent.delete(digest);
  sent.set(digest, wish);
  for (const [old] of sent) {
    if (sent.size <= maxRecords) break;
    sent.delete(old);
  }
  return wish;
}

/** A whole definitive answer came: the same content is another wish from now on, but within the click sequence. */
export function end(wish: Sent): void {
  wish.ended_ = true;
  const name = `page:${wish.digest_}`;
  if (tab.get(name)?.key === wish.key_) tab.drop(name);
}
