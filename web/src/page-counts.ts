import { listen } from "./clicks.js";
import { attempt } from "./storage.js";

/** Why a request of a protected route went out without a key: a body that can be read once, sendBeacon, a synchronous request, a long body. */
export type Kind = "stream" | "beacon" | "sync" | "large";

const tellMs = 60_000;
const send = globalThis.fetch;

let counts: { [route: string]: { [kind: string]: number } } = {};
let toldAt = 0;

/** Counts a request that could not be protected. */
export function count(route: string, kind: Kind): void {
  const kinds = (counts[route] ??= {});
  kinds[kind] = (kinds[kind] ?? 0) + 1;
  if (performance.now() - toldAt > tellMs) tell();
}

/** Tells the gateway, when there is something to tell. */
function tell(): void {
  const body = JSON.stringify(counts);
  if (body === "{}") return;
  counts = {};
  toldAt = performance.now();
  const told = attempt(() => send("/.well-known/semel/page", { method: "POST", keepalive: true, headers: { "Content-Type": "application/json" }, body }));
  told?.catch(() => undefined);
}

listen("pagehide", tell);
