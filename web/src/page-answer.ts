import { end, type Sent } from "./page-wish.js";
import { verdict } from "./verdict.js";
import { isStream, maxAnswerBytes, whole } from "./whole.js";

/** How long the same content waits for the rest of an answer, in milliseconds: only then it is known whether it is the same wish. */
const restMs = 250;

const { setTimeout, performance } = globalThis;

/** Waits so long, or until the signal is aborted. */
export function pause(ms: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => resolve());
  });
}

/** Ends the wish when its answer is definitive and comes whole; of a long one without a length a MiB is enough. The application reads its own copy. */
export function follow(response: Response, wish: Sent, url: string): void {
  const judged = verdict(response);
  const length = Number(response.headers.get("Content-Length"));
  const long = isStream(response) || length > maxAnswerBytes;
  const over = Promise.all([judged, long ? transferred(url, length) : whole(response)]).then(([{ ends }]) => {
    if (ends) end(wish);
  });
  const reading = Promise.race([over, long ? undefined : pause(restMs)]).catch(() => undefined).then(() => {
    if (wish.reading_ === reading) wish.reading_ = undefined;
  });
  wish.reading_ = reading;
}

/**
 * Resolves when the transfer of a long answer has ended, by the browser's timing: a copy would go on after the application has cancelled its
 * own. An aborted answer has no status there, and one that broke off is shorter than it said; a stream without a length has no such sign.
 */
function transferred(url: string, length: number): Promise<void> | undefined {
  const since = performance.now();
  if (!globalThis.PerformanceObserver) return undefined;
  return new Promise((resolve, reject) => {
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntriesByName(url) as (PerformanceResourceTiming & { responseStatus?: number })[]) {
        if (entry.responseEnd < since) continue;
        observer.disconnect();
        if (entry.responseStatus === 0 || entry.encodedBodySize < length) reject();
        else resolve();
      }
    });
    observer.observe({ type: "resource", buffered: true });
  });
}
