import { semelFetch, type SemelInit } from "./fetch.js";
import type { State } from "./send.js";
import { replayed } from "./verdict.js";

/** The state of a submission, for a page to show. */
export interface Progress {
  /** Later calls are ignored: they get the answer of the one that is under way. */
  busy: boolean;
  state: "idle" | State["name"] | "done" | "failed";
  response?: Response;
  /** The reason that no definitive answer came; the next call repeats the same intent safely. */
  error?: unknown;
  /** The answer is that of an earlier attempt. */
  replayed: boolean;
}

/** One intent of a page, sent one at a time. */
export interface Sender {
  /**
   * Sends, or joins what is under way. It does not reject: the progress says what went wrong. from is the form or control that the person
   * used; without it the wish is over when the person edits anything on the page after the answer.
   */
  send(input: RequestInfo | URL, init?: RequestInit, from?: object): Promise<Response | undefined>;
  /** Stops waiting and reporting. The key is kept. */
  stop(): void;
}

/** The base of the React hook and the Vue composable: an intent with its progress. */
export function submission(intent: string, options: Omit<SemelInit, "intent">, tell: (progress: Progress) => void): Sender {
  let current: Promise<Response | undefined> | undefined;
  let control = new AbortController();
  let told = tell;
  const run = async (input: RequestInfo | URL, init: RequestInit | undefined, from: object): Promise<Response | undefined> => {
    told({ busy: true, state: "sending", replayed: false });
    try {
      const response = await semelFetch(input, { ...init, signal: control.signal }, {
        ...options,
        intent,
        from,
        onState: (state) => {
          told({ busy: true, state: state.name, replayed: false });
          options.onState?.(state);
        },
      });
      told({ busy: false, state: "done", response, replayed: replayed(response) });
      return response;
    } catch (error) {
      told({ busy: false, state: "failed", error, replayed: false });
      return undefined;
    } finally {
      current = undefined;
    }
  };
  const sender: Sender = {
    send: (input, init, from = sender) => (current ??= run(input, init, from)),
    stop() {
      told = () => undefined;
      control.abort();
      control = new AbortController();
    },
  };
  return sender;
}
