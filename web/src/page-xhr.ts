import { isProblem, judged } from "./page-answer.js";
import { contentNow, copyOf } from "./page-content.js";
import { count } from "./page-counts.js";
import { patienceMs, type Route, routeOf } from "./page-route.js";
import { end, type Sent, wishOf } from "./page-wish.js";
import { attempt } from "./storage.js";
import { judge, type Problem, type Said, type Verdict } from "./verdict.js";

const { setTimeout, clearTimeout } = globalThis;
const listener = globalThis.EventTarget?.prototype.addEventListener;

/** A request between open and its end. */
interface Call {
  /** The arguments of open. */
  args_: unknown[];
  headers_: [name: string, value: string][];
  body_?: unknown;
  wish_?: Sent;
  sentAt_: number;
  /** The answer says "still at work", and is kept from the application. */
  hidden_?: boolean;
  /** It is not the first attempt: its beginning is kept from the application. */
  again_?: boolean;
  /** Between two attempts. */
  timer_?: ReturnType<typeof setTimeout> | undefined;
}

const calls = new WeakMap<XMLHttpRequest, Call>();

/** Lets this method of a prototype do more; the application sees the browser's own. */
export type Wrap = <T extends object>(holder: T, name: keyof T & string, call: (native: (...args: unknown[]) => unknown, self: never, args: never) => unknown) => void;

/** Gives requests of XMLHttpRequest a key, if a route wants one. Everything that the application hears of them stays as it is. */
export function guardXhr(routes: readonly Route[], wrap: Wrap): void {
  const { prototype } = XMLHttpRequest;
  const { open, setRequestHeader, send } = prototype;
  const does = (method: (...args: never) => unknown, xhr: XMLHttpRequest, ...args: unknown[]): void => void Reflect.apply(method, xhr, args);

  wrap(prototype, "open", (native, xhr: XMLHttpRequest, args: unknown[]) => {
    native(...args);
    clearTimeout(calls.get(xhr)?.timer_);
    calls.set(xhr, { args_: args, headers_: [], sentAt_: 0 });
  });
  wrap(prototype, "setRequestHeader", (native, xhr: XMLHttpRequest, args: [string, string]) => {
    native(...args);
    calls.get(xhr)?.headers_.push(args);
  });
  wrap(prototype, "send", (native, xhr: XMLHttpRequest, args: unknown[]) => {
    attempt(() => sign(xhr, args[0]));
    native(...args);
  });
  wrap(prototype, "abort", (native, xhr: XMLHttpRequest) => {
    const call = calls.get(xhr);
    if (call?.timer_) {
      clearTimeout(call.timer_);
      call.timer_ = undefined;
      does(send, xhr); // the browser tells of the end of what was sent alone
    }
    native();
  });

  const sign = (xhr: XMLHttpRequest, body: unknown): void => {
    const call = calls.get(xhr);
    if (!call) return;
    const [method, url, async = true] = call.args_;
    const asked = routeOf(routes, String(method), String(url));
    const header = (wanted: string): string | undefined => call.headers_.find(([name]) => String(name).toLowerCase() === wanted.toLowerCase())?.[1];
    if (!asked || header(asked.route.header) !== undefined) return;
    asked.action = header("Next-Action") ?? null;
    const content = async ? contentNow(body, asked) : "sync";
    if (typeof content === "string") {
      if (content) count(asked.route.name, content);
      return;
    }
    const wish = wishOf(...content);
    const key: [string, string] = [asked.route.header, `"${wish.key_}"`];
    does(setRequestHeader, xhr, ...key);
    call.headers_.push(key);
    Object.assign(call, { wish_: wish, body_: copyOf(body), sentAt_: performance.now() });
    for (const type of ["readystatechange", "loadstart", "progress", "load", "loadend"]) does(listener, xhr, type, heard, true);
  };

  /** Hears an event before the application does. */
  function heard(this: XMLHttpRequest, event: Event): void {
    const call = calls.get(this);
    if (!call?.wish_) return;
    const { type } = event;
    if (type === "readystatechange") attempt(() => changed(this, call));
    if (call.hidden_ || (call.again_ && type === "loadstart")) event.stopImmediatePropagation();
    if (call.hidden_ && type === "loadend") repeat(this, call);
  }

  const changed = (xhr: XMLHttpRequest, call: Call): void => {
    if (xhr.readyState === 2) call.hidden_ = mayRepeat(xhr, call);
    if (xhr.readyState !== 4) return;
    const said = xhr.status ? verdictOf(xhr) : undefined;
    call.hidden_ &&= said?.kind === "in-flight";
    if (said?.ends) end(call.wish_!);
  };

  /** Opens it once more at once, so that it looks like one that waits for its answer. */
  const repeat = (xhr: XMLHttpRequest, call: Call): void => {
    const wait = verdictOf(xhr).retryAfterMs ?? 0;
    does(open, xhr, ...call.args_);
    for (const each of call.headers_) does(setRequestHeader, xhr, ...each);
    if (!call.again_) {
      const mute = (event: Event): void => (calls.get(xhr)?.again_ ? event.stopImmediatePropagation() : undefined);
      for (const type of ["loadstart", "progress", "load", "loadend"]) does(listener, xhr.upload as never, type, mute, true);
    }
    call.hidden_ = false;
    call.again_ = true;
    call.timer_ = setTimeout(() => {
      call.timer_ = undefined;
      does(send, xhr, call.body_);
    }, wait);
  };
}

/** The headers of an answer; none of another origin's, which the console would tell of. */
function saidBy(xhr: XMLHttpRequest): Said {
  const own = attempt(() => new URL(xhr.responseURL).origin) === location.origin;
  const get = (name: string): string | null => (own ? xhr.getResponseHeader(name) : null);
  return { get, has: (name) => get(name) !== null };
}

/** Whether the answer, whose headers have come, may be kept from the application, which waits for as long as it said itself. */
function mayRepeat(xhr: XMLHttpRequest, { sentAt_ }: Call): boolean {
  const headers = saidBy(xhr);
  if (xhr.status !== 409 || !isProblem(headers) || /^(blob|document)$/.test(xhr.responseType)) return false;
  const wait = judge(409, headers).retryAfterMs;
  return wait !== undefined && performance.now() - sentAt_ + wait < Math.min(xhr.timeout || patienceMs, patienceMs);
}

/** Judges an answer that has come whole. */
function verdictOf(xhr: XMLHttpRequest): Verdict {
  const headers = saidBy(xhr);
  return judged(xhr.status, headers, isProblem(headers) ? attempt(() => problemOf(xhr)) : undefined);
}

function problemOf({ responseType, response }: XMLHttpRequest): Problem {
  if (responseType === "json") return response as Problem;
  return JSON.parse(responseType === "arraybuffer" ? new TextDecoder().decode(response as ArrayBuffer) : String(response)) as Problem;
}
