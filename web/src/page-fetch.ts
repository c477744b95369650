import { follow, isProblem, pause, verdictOf } from "./page-answer.js";
import { type Content, contentNow, contentOfBody, contentOfRequest, copyOf } from "./page-content.js";
import { count } from "./page-counts.js";
import { type Asked, note, patienceMs, type Route, routeOf } from "./page-route.js";
import { type Sent, sentBefore, sign } from "./page-wish.js";

const { fetch: native, Request, Headers } = globalThis;

/** A call of fetch, as it goes out: once, or under the same key again. */
interface Call {
  asked: Asked;
  headers_: Headers;
  signal_: AbortSignal | null | undefined;
  /** Sends it; once is for a Request that is not sent again. */
  send_(once?: boolean): Promise<Response>;
}

/** Calls fetch with a key, if a route wants one; otherwise, and after an error in here, as the application did. */
export function guardedFetch(routes: readonly Route[], self: unknown, args: [RequestInfo | URL, RequestInit?]): Promise<Response> {
  let send = (_once?: boolean): Promise<Response> => Reflect.apply(native, self, args);
  try {
    const given = args[0] instanceof Request ? args[0] : undefined;
    const own: RequestInit = {};
    for (const name in args[1]) own[name as "body"] = args[1][name as "body"]!; // the browser also reads inherited members
    const asked = routeOf(routes, own.method ?? given?.method ?? "GET", given?.url ?? String(args[0]));
    if (!asked) return send();
    const one = given && !(own.body instanceof ReadableStream) ? new Request(given, own) : undefined; // as fetch does with it
    const headers = one ? one.headers : (own.headers = new Headers(own.headers ?? given?.headers));
    send = (once) => Reflect.apply(native, self, one ? [once ? one : one.clone()] : [args[0], own]);
    const filled = one?.body !== null; // where the browser tells
    if (headers.has(asked.route.header)) return send(true);
    if (own.body instanceof ReadableStream || (one?.keepalive && filled)) {
      count(asked.route.name, "stream");
      return send(true);
    }
    note(asked, headers);
    const call = { asked, headers_: headers, signal_: (one ?? own).signal, send_: send };
    const { body, keepalive } = own;
    if (body) own.body = copyOf(body) as BodyInit;
    const content = one && filled ? contentOfRequest(one.clone(), asked) : keepalive ? contentNow(body, asked) : contentOfBody(own.body, asked);
    return content instanceof Promise ? content.then((known) => begin(call, known), () => send(true)) : begin(call, content);
  } catch {
    return send(true);
  }
}

function begin(call: Call, content: Content): Promise<Response> {
  const { asked, headers_: headers, send_: send } = call;
  try {
    const reading = sentBefore(content[0]!)?.reading_;
    if (reading) return reading.then(() => begin(call, content));
    const wish = sign(asked, headers, content);
    return wish ? repeated(call, wish, performance.now() + patienceMs) : send(true);
  } catch {
    return send(true);
  }
}

/** Sends, and again while an earlier attempt is still at work and the application waits. */
function repeated(call: Call, wish: Sent, until: number): Promise<Response> {
  return call.send_().then(async (response) => {
    const verdict = verdictOf(response, call.asked.url);
    if (response.status === 409 && isProblem(response.headers)) {
      const said = await verdict.catch(() => undefined);
      const wait = said?.retryAfterMs ?? 1000;
      if (said?.kind === "in-flight" && performance.now() + wait < until) return pause(wait, call.signal_).then(() => repeated(call, wish, until));
    }
    follow(verdict, wish);
    return response;
  });
}
