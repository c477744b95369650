import { isProblem, judged } from "./page-answer.js";
import { contentNow, copyOf } from "./page-content.js";
import { type Asked, note, patienceMs, type Route, routeOf } from "./page-route.js";
import { end, type Sent, sign } from "./page-wish.js";
import { attempt } from "./storage.js";
import { type Problem, retryAfter, type Verdict } from "./verdict.js";

const { clearTimeout, Headers, setTimeout } = globalThis;

/** A request between open and its end. */
interface Call {
  /** The arguments of open. */
  args_: unknown[];
  asked_?: Asked | undefined;
  headers_: Headers;
  body_?: unknown;
  wish_?: Sent | undefined;
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
  const own = XMLHttpRequest;
  const { prototype } = own;
  const { addEventListener, open, setRequestHeader, send } = prototype;
  const hear = (target: EventTarget, hears: (event: Event) => void): void =>
    ["readystatechange", "loadstart", "progress", "load", "loadend"].forEach((type) => Reflect.apply(addEventListener, target, [type, hears]));

  wrap(prototype, "open", (native, xhr: XMLHttpRequest, args: unknown[]) => {
    native(...args);
    clearTimeout(calls.get(xhr)?.timer_);
    const call: Call = { args_: args, headers_: new Headers(), sentAt_: 0 };
    calls.set(xhr, call);
    attempt(() => {
      call.asked_ = routeOf(routes, String(args[0]), String(args[1]));
      if (call.asked_) hear(xhr.upload, (event) => call.again_ && event.stopImmediatePropagation());
    });
  });
  wrap(prototype, "setRequestHeader", (native, xhr: XMLHttpRequest, args: [string, string]) => {
    native(...args);
    calls.get(xhr)?.headers_.append(...args);
  });
  wrap(prototype, "send", (native, xhr: XMLHttpRequest, args: unknown[]) => {
    attempt(() => begin(xhr, args[0]));
    native(...args);
  });
  wrap(prototype, "abort", (native, xhr: XMLHttpRequest) => {
    const call = calls.get(xhr);
    if (call?.timer_) {
      clearTimeout(call.timer_);
      call.timer_ = undefined;
      Reflect.apply(send, xhr, []); // the browser has events for the end of sent requests only
    }
    native();
  });

  const begin = (xhr: XMLHttpRequest, body: unknown): void => {
    const call = calls.get(xhr)!;
    const { args_: [, , async = true], asked_: asked } = call;
    if (!asked || call.headers_.has(asked.route.header)) return;
    note(asked, call.headers_);
    call.wish_ = sign(asked, call.headers_, async ? contentNow(body, asked) : "sync");
    if (!call.wish_) return;
    const { header } = asked.route;
    Reflect.apply(setRequestHeader, xhr, [header, call.headers_.get(header)!]);
    call.body_ = copyOf(body);
    call.sentAt_ = performance.now();
  };

  /** Hears an event before the application does. */
  const heard = (xhr: XMLHttpRequest, event: Event): void => {
    const call = calls.get(xhr);
    if (!call?.wish_) return;
    const { type } = event;
    if (type === "readystatechange") attempt(() => changed(xhr, call));
    if (call.hidden_ || (call.again_ && type === "loadstart")) event.stopImmediatePropagation();
    if (call.hidden_ && type === "loadend") repeat(xhr, call);
  };

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
    Reflect.apply(open, xhr, call.args_ as never);
    call.headers_.forEach((value, name) => Reflect.apply(setRequestHeader, xhr, [name, value]));
    call.hidden_ = false;
    call.again_ = true;
    call.timer_ = setTimeout(() => {
      call.timer_ = undefined;
      Reflect.apply(send, xhr, [call.body_ as never]);
    }, wait);
  };

  // Listeners hear events in the order in which they came, so that ours have to be the first.
  const construct = (_: unknown, args: never[], made: typeof own): XMLHttpRequest => {
    const xhr = Reflect.construct(own, args, made) as XMLHttpRequest;
    hear(xhr, (event) => heard(xhr, event));
    return xhr;
  };
  prototype.constructor = globalThis.XMLHttpRequest = new Proxy(own, { __proto__: null, construct } as ProxyHandler<typeof own>);
}

/** The headers of an answer. Asked for one by one, those of another origin would show in the console. */
function headersOf(xhr: XMLHttpRequest): Headers {
  const lines = xhr.getAllResponseHeaders().match(/.+/g) ?? [];
  return new Headers(lines.map((line) => line.split(/: ?(.*)/, 2) as [string, string]));
}

/** Whether the answer, whose headers have come, may be kept from the application, which waits for as long as it said itself. Without Retry-After it is NaN. */
function mayRepeat(xhr: XMLHttpRequest, { sentAt_ }: Call): boolean {
  const headers = headersOf(xhr);
  const wait = retryAfter(headers.get("Retry-After"));
  return xhr.status === 409 && isProblem(headers) && performance.now() - sentAt_ + wait! < Math.min(xhr.timeout || patienceMs, patienceMs);
}

/** Judges an answer that has come whole. */
function verdictOf(xhr: XMLHttpRequest): Verdict {
  const { response, status } = xhr;
  return judged(status, headersOf(xhr), () => (typeof response === "string" ? JSON.parse(response) : response) as Problem);
}
