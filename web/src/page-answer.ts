import { end, type Sent } from "./page-wish.js";
import { attempt } from "./storage.js";
import { judge, type Problem, type Verdict } from "./verdict.js";
import { isStream, maxAnswerBytes, whole } from "./whole.js";

/** How long a body is waited for, in milliseconds: that of a request before it is a stream, and of an answer before the same content is the same wish. */
export const bodyMs = 250;

const { setTimeout } = globalThis;

/** Waits so long, or until the signal is aborted. */
export function pause(ms: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
    signal?.addEventListener("abort", resolve as () => void);
  });
}

/** The header with the type of the gateway's own refusal, whose body may be a page for people, or a Blob. */
const refusal = "semel-problem";

/** Whether an answer is a refusal or a problem document. */
export function isProblem(said: Headers): boolean {
  return said.has(refusal) || /^application\/problem\+json/i.test(said.get("Content-Type") ?? "");
}

/** Judges an answer that has come whole. A problem document that cannot be read says nothing of the wish. */
export function judged(status: number, said: Headers, json: () => Problem): Verdict {
  const type = said.get(refusal);
  const problem = type ? { type } : isProblem(said) ? attempt(json) : undefined;
  const verdict = judge(status, said, problem);
  return isProblem(said) && !problem ? { ...verdict, ends: false } : verdict;
}

/** Judges an answer when it has come whole; of a long one without a length a MiB is enough. The application reads its own copy. */
export async function verdictOf(response: Response, sentTo: string): Promise<Verdict> {
  const { status, headers } = response;
  const length = Number(headers.get("Content-Length"));
  const blob = await (isStream(response) || length > maxAnswerBytes ? transferred(sentTo, length) : whole(response));
  const text = isProblem(headers) && (await blob?.text());
  return judged(status, headers, () => JSON.parse(String(text)) as Problem);
}

/** Ends the wish when a whole definitive answer says so. The same content waits for that, but not long. */
export function follow(verdict: Promise<Verdict>, wish: Sent): void {
  const over = verdict.then(({ ends }) => (ends ? end(wish) : undefined)).catch(() => undefined); // it broke off
  const reading = Promise.race([over, pause(bodyMs)]).then(() => {
    if (wish.reading_ === reading) wish.reading_ = undefined;
  });
  wish.reading_ = reading;
}

/**
 * Resolves when the transfer of a long answer has ended, by the browser's timing: a copy would go on after the application has cancelled its
 * own. An aborted answer has no status there, and one that broke off is shorter than it said; a stream without a length has no such sign.
 */
function transferred(url: string, length: number): Promise<undefined> | undefined {
  const since = performance.now();
  return globalThis.PerformanceObserver && new Promise((resolve, reject) => {
    new PerformanceObserver((list, observer) => {
      const entry = list.getEntriesByName(url).find((each) => (each as PerformanceResourceTiming).responseEnd >= since) as (PerformanceResourceTiming & { responseStatus?: number }) | undefined;
      if (!entry) return;
      observer.disconnect();
      if (entry.responseStatus === 0 || entry.encodedBodySize < length) reject();
      else resolve(undefined);
    }).observe({ type: "resource", buffered: true });
  });
}
