import type { Entry } from "./entry.js";

/** Where a server answers what it knows of an intent; see docs/http.md. */
const statusPath = "/.well-known/idempotency/status";

/** What a server says of an intent. */
export interface Known {
  /**
   * The states of the status answer; "sign-in" when only a person who is signed in gets it, "later" when there is none
   * now, and "nothing" when the server does not answer such questions.
   */
  state: "absent" | "in-flight" | "completed" | "unknown" | "cancelled" | "sign-in" | "later" | "nothing";
  /** How long ago the last execution began, in milliseconds. */
  ageMs: number;
}

const states: readonly unknown[] = ["absent", "in-flight", "completed", "unknown", "cancelled"];

/**
 * Asks for the outcome of an entry, with the headers of its attempt. It does not reject. The page that a redirect led to has just
 * come, so there is a network: where a server of another origin gives no answer, not even one that breaks off, it does not let pages of this one ask (CORS),
 * and never will.
 */
export async function ask(send: typeof fetch, entry: Entry, headers: Headers, signal: AbortSignal): Promise<Known> {
  const url = new URL(statusPath, entry.url);
  url.search = new URLSearchParams({ method: entry.method, path: new URL(entry.url).pathname }).toString();
  let came = false;
  try {
    const response = await send(url.href, { headers, credentials: entry.credentials, cache: "no-store", redirect: "manual", signal });
    came = true;
    if (response.type === "opaqueredirect" || response.status === 401 || response.status === 403) return { state: "sign-in", ageMs: 0 };
    if ([408, 421, 425, 429].includes(response.status) || response.status >= 500) return { state: "later", ageMs: 0 };
    const said = response.ok ? await read(response) : undefined;
    if (!states.includes(said?.state) || typeof said?.age_seconds !== "number") return { state: "nothing", ageMs: 0 };
    return { state: said.state as Known["state"], ageMs: said.age_seconds * 1000 };
  } catch {
    const foreign = globalThis.location !== undefined && url.origin !== globalThis.location.origin;
    return { state: foreign && !came && !signal.aborted ? "nothing" : "later", ageMs: 0 };
  }
}

async function read(response: Response): Promise<{ state?: unknown; age_seconds?: unknown } | undefined> {
  const text = await response.text();
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined; // a page
  }
}
