import "./guard.js";
import type { Api } from "./guard.js";
import type { GuardOptions } from "./guard-form.js";
import type { Guarded } from "./watch.js";

export type { GuardOptions, Guarded };
export { semelFetch, type SemelInit } from "./fetch.js";
export { maxKeyLength, newKey, quoteKey } from "./key.js";
export { type Patience, retrying, SemelError, type State, type Trouble, waitAfter } from "./send.js";
export { type Progress, type Sender, submission } from "./submission.js";
export type { Texts } from "./texts.js";
export { type WaitingTexts, waitingTexts } from "./waiting-texts.js";
export { type Kind, type Problem, judge, replayed, retryAfter, type Verdict, verdict } from "./verdict.js";

/**
 * Guards a form: one key per draft in a hidden field, one submission at a time. A form that carries the gateway's token,
 * or the attribute data-semel, is guarded without this call.
 */
export function guardForm(form: HTMLFormElement, options?: GuardOptions): Guarded {
  return (globalThis as unknown as { semel: Api }).semel.guardForm(form, options);
}
