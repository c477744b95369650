import { addressOf } from "./address.js";
import { contentOf, digest, hash, type Part } from "./digest.js";
import { keyIn, newKey } from "./key.js";
import { type Patience, retrying, SemelError, withKey } from "./send.js";
import { isToken } from "./outcome.js";
import { shelf } from "./storage.js";
import type { Verdict } from "./verdict.js";
import { arrival, rootOf, Wish } from "./wish.js";

/** Options of semelFetch in addition to those of fetch. */
export interface SemelInit extends Patience {
  /**
   * Names the wish: its key is kept until there is a definitive answer, through errors, reloads and crashes. Without a
   * name each call is a wish of its own.
   */
  intent?: string;
  /**
   * The form or control that the person used, or a component's own object: after the answer the same content goes on with its key, so that a
   * second click gets the first answer, until the person edits the form, or the page resets it or calls renew.
   */
  from?: object;
  /** Whether the intent is one in every tab of the origin. Default true; false: one in each tab. */
  shared?: boolean;
  /** The key, if the caller keeps it. Default: that of the request's Idempotency-Key header. With a key, intent only shares concurrent calls. */
  key?: string;
}

/** Calls that are under way, so that a second call of the same intent gets the same answer. */
const underWay = new Map<string, Shared>();
/** What people used on this page, and the wishes that it sent, by their intents. */
const wishes = new WeakMap<object, Map<string, Wish>>();
/** The last definitive answer, for the rest of a double click. */
let last: { wish: Wish; copy: Response } | undefined;
const tab = shelf(() => sessionStorage);
const origin = shelf(() => localStorage);

interface Shared {
  digest: string;
  answer: Promise<Response>;
  waiters: number;
  stop: AbortController;
}

/**
 * Sends a request that must happen once. It is repeated under one key until there is a definitive answer: 2xx, 3xx or a
 * 4xx that a repetition would not change. Concurrent calls of one intent with the same content share a request. An answer of up to
 * 1 MiB comes whole; a longer one, or a stream, ends the intent when its body has been read to the end, and reading it throws a
 * SemelError of the kind unknown when it breaks off.
 * @throws SemelError when no definitive answer comes within the patience; the signal's reason when it is aborted; TypeError, before
 * anything is sent, for what would go out without a key or to no address.
 */
export async function semelFetch(input: RequestInfo | URL, init: RequestInit = {}, semel: SemelInit = {}): Promise<Response> {
  const signal = semel.signal ?? init.signal ?? (input as Request)?.signal;
  signal?.throwIfAborted();
  const { intent, from } = semel;
  if (!/^object(string|undefined)$/.test(typeof semel + typeof intent) || intent === "" || (from && !intent)) throw new TypeError("write { intent: name }");
  const name = `${semel.shared ?? true} ${intent}`;
  const wish = from && wishOf(rootOf(from), name);
  if (wish?.again_) {
    if (last?.wish === wish) return last.copy.clone();
    const first = underWay.get(name);
    if (first && !first.stop.signal.aborted) return wait(first, signal);
  }
  const request = await repeatable(input, init);
  const key = semel.key ?? keyIn(new Headers(request.init.headers));
  if (!intent) return send(request, { ...semel, ...(signal ? { signal } : {}) }, key ?? newKey());
  let shared = underWay.get(name);
  if (shared?.digest !== request.digest || shared.stop.signal.aborted) {
    shared = begin(name, request, semel, key, wish);
    underWay.set(name, shared);
  }
  return wait(shared, signal);
}

function wishOf(root: object, name: string): Wish {
  const all = wishes.get(root) ?? new Map<string, Wish>();
  const wish = all.get(name) ?? new Wish(root);
  wishes.set(root, all.set(name, wish));
  return wish;
}

function begin(name: string, request: Repeatable, semel: SemelInit, given: string | undefined, wish: Wish | undefined): Shared {
  const kept = semel.shared === false ? tab : origin;
  const place = `intent:${semel.intent}`;
  const here = arrival();
  const before = kept.get(place);
  const { digest } = request;
  const key = given ?? (wish ?? new Wish({})).sign_(digest, before, here);
  if (!given) {
    let token = (before?.key === key ? before.token : undefined) ?? request.token;
    const both = `token:${token}${digest}`; // for the server these are the wish, whatever its key
    if (wish && token && (kept.get(both)?.key ?? key) !== key) token = "";
    else if (wish && token) kept.put(both, { key });
    kept.put(place, { key, digest, token, entry: here.entry, page: here.page });
    under(token, request.init);
  }
  const ended = ({ kind }: Verdict): void => {
    const record = kept.get(place);
    const refused = /^(rejected|mismatch|cancelled)$/.test(kind);
    wish?.end_();
    if (wish && refused) wish.edits_ = -1; // as if it was edited since: it can be asked for again
    if (record?.key !== key) return;
    if (wish && !refused) kept.put(place, { ...record, ended: true });
    else kept.drop(place);
  };
  const stop = new AbortController();
  const answer = send(request, { ...semel, signal: stop.signal }, key, ended, wish).finally(() => {
    if (underWay.get(name) === shared) underWay.delete(name);
  });
  answer.catch(() => undefined); // every waiter may have gone
  const shared: Shared = { digest, answer, waiters: 0, stop };
  return shared;
}

/** Waits for a shared answer. The last one to stop waiting stops the request; its key is kept. */
async function wait(shared: Shared, signal: AbortSignal | null | undefined): Promise<Response> {
  signal?.throwIfAborted();
  shared.waiters++;
  let stopped!: () => void;
  const aborted = new Promise<never>((_, reject) => {
    stopped = () => reject(signal?.reason);
    signal?.addEventListener("abort", stopped);
  });
  try {
    const answer = await Promise.race([shared.answer, aborted]);
    return shared.waiters > 1 ? answer.clone() : answer; // an unread copy would keep all of a long answer in memory
  } finally {
    signal?.removeEventListener("abort", stopped);
    if (--shared.waiters === 0) shared.stop.abort(signal?.reason);
  }
}

async function send(request: Repeatable, patience: Patience, key: string, ended?: (verdict: Verdict) => void, wish?: Wish): Promise<Response> {
  const headers = withKey(request.init.headers, key);
  const attempt = (signal: AbortSignal): Promise<Response> => fetch(request.url, { ...request.init, headers, signal });
  const { response, verdict } = await retrying(attempt, key, patience, ended);
  if (wish && verdict.ends) last = { wish, copy: response.clone() };
  return response;
}

/** Sends the fields of a form under this token instead of their own, or none. */
function under(token: string | undefined, request: RequestInit): void {
  const { body } = request;
  if (!isForm(body)) return;
  const form = (request.body = body instanceof FormData ? new FormData() : new URLSearchParams());
  for (const [name, value] of body) {
    if (!isToken(String(value))) form.append(name, value as string);
    else if (token) form.append(name, token);
  }
}

function isForm(body: unknown): body is FormData | URLSearchParams {
  return body instanceof FormData || body instanceof URLSearchParams;
}

/** A request that can be sent any number of times. */
interface Repeatable {
  url: string;
  init: RequestInit;
  /** The first token among the fields of a form. */
  token: string | undefined;
  /** Of method, address and body. */
  digest: string;
}

async function repeatable(input: RequestInfo | URL, init: RequestInit): Promise<Repeatable> {
  let own: RequestInit = init;
  if (input instanceof Request) {
    if (input.bodyUsed) throw new SemelError("not-repeatable", "", false);
    own = { ...copyOf(input), ...init };
    if (input.body && own.body === undefined) own.body = await input.clone().arrayBuffer();
  }
  const method = (own.method ?? "GET").toUpperCase();
  if (method === "GET" || method === "HEAD") throw new TypeError(`semelFetch is for what changes something, not ${method}`);
  if (own.mode === "no-cors") throw new TypeError("no-cors sends no key");
  if (String(own.body) === "[object Object]") throw new TypeError("the body is an object: use JSON.stringify");
  if (own.body instanceof ReadableStream) throw new SemelError("not-repeatable", "", false);
  const url = addressOf(input instanceof Request ? input.url : input);
  const parts = await bodyParts(own.body);
  const token = isForm(own.body) ? [...own.body.values()].map(String).find(isToken) : undefined;
  return { url, init: { ...own, method }, token, digest: digest([["method", method], ["url", url], ...parts]) };
}

function copyOf(request: Request): RequestInit {
  const { cache, credentials, headers, integrity, keepalive, method, mode, redirect, referrer, referrerPolicy } = request;
  return {
    cache, credentials, headers, integrity, keepalive, method, redirect, referrer, referrerPolicy,
    ...(mode === "navigate" ? {} : { mode }),
  };
}

/** How much of a Blob is read at a time, in bytes; a file that is longer is known by its type, name, size and time. */
export const pieceBytes = 1 << 20;

async function bodyParts(body: BodyInit | null | undefined): Promise<Part[]> {
  if (!body) return [];
  if (isForm(body)) {
    const known: [string, FormDataEntryValue][] = [];
    for (const [name, value] of body) if (!isToken(String(value))) known.push([name, (value as File).name === "blob" ? await contentDigest(value as File) : value]);
    return contentOf(known);
  }
  if (body instanceof Blob && body.size > pieceBytes) {
    const { name, lastModified } = body as Partial<File>;
    return [["body", `${body.type} ${name ?? (await contentDigest(body))} ${body.size} ${lastModified ?? 0}`]];
  }
  if (typeof body === "string") return [["body", body]];
  return [["body", await contentDigest(await new Response(body).blob())]];
}

/** The digest of a Blob that has no name and no time to be known by. */
async function contentDigest(blob: Blob): Promise<string> {
  let known = "";
  for (let at = 0; at < blob.size; at += pieceBytes) {
    known = hash(known + new TextDecoder("latin1").decode(await blob.slice(at, at + pieceBytes).arrayBuffer()));
  }
  return known;
}
