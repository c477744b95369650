import { type Sent } from "./page-wish.js";
import { type Problem, type Verdict } from "./verdict.js";
/** How long a body is waited for, in milliseconds: that of a request before it is a stream, and of an answer before the same content is the same wish. */
export declare const bodyMs = 250;
/** Waits so long, or until the signal is aborted. */
export declare function pause(ms: number, signal?: AbortSignal | null): Promise<void>;
/** Whether an answer is a refusal or a problem document. */
export declare function isProblem(said: Headers): boolean;
/** Judges an answer that has come whole. A problem document that cannot be read says nothing of the wish. */
export declare function judged(status: number, said: Headers, json: () => Problem): Verdict;
/** Judges an answer when it has come whole; of a long one without a length a MiB is enough. The application reads its own copy. */
export declare function verdictOf(response: Response, sentTo: string): Promise<Verdict>;
/** Ends the wish when a whole definitive answer says so. The same content waits for that, but not long. */
export declare function follow(verdict: Promise<Verdict>, wish: Sent): void;
