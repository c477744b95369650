import { listen } from "./clicks.js";

/** Why a request of a protected route went out without a key: a body that can be read once, sendBeacon, a synchronous request, a long body. */
export type Kind = "stream" | "beacon" | "sync" | "large";

const tellMs = 60_000;
const { fetch: send, setTimeout } = globalThis;

let counts: { [route: string]: { [kind: string]: number } } | undefined;

/** Counts a request that could not be protected. */
export function count(route: string, kind: Kind): void {
  if (!counts) setTimeout(tell, tellMs);
  const kinds = ((counts ??= {})[route] ??= {});
  kinds[kind] = (kinds[kind] ?? 0) + 1;
}

/** Tells the gateway, when there is something to tell: at most once a minute, and when the page goes away. */
function tell(): void {
  const body = JSON.stringify(counts);
  counts = undefined;
  if (body) send("/.well-known/semel/page", { method: "POST", keepalive: true, headers: { "Content-Type": "application/json" }, body }).catch(() => undefined);
}

listen("pagehide", tell);
