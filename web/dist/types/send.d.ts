import { type Kind, type Problem, type Verdict } from "./verdict.js";
/** The reason that no definitive answer came. */
export type Trouble = Kind | "network" | "offline" | "timeout" | "not-repeatable";
/** No definitive answer came: it may have happened, and sending it again under the same key is safe. */
export declare class SemelError extends Error {
    readonly kind: Trouble;
    readonly key: string;
    /** Whether the same call can bring an answer later. */
    readonly retryable: boolean;
    /** What the server said last, if it said something. */
    readonly problem?: Problem | undefined;
    readonly name = "SemelError";
    constructor(kind: Trouble, key: string, 
    /** Whether the same call can bring an answer later. */
    retryable: boolean, 
    /** What the server said last, if it said something. */
    problem?: Problem | undefined, options?: ErrorOptions);
}
/** What is going on between the call and its answer. */
export type State = {
    name: "sending";
    attempt: number;
} | {
    name: "waiting";
    attempt: number;
    waitMs: number;
    kind: Trouble;
} | {
    name: "offline";
    attempt: number;
};
/** How long and how often a request is tried. */
export interface Patience {
    /** How long the call waits for a definitive answer in all, in milliseconds. Default 60 000. */
    timeout?: number;
    /** How long one attempt waits for its answer, in milliseconds. Default 30 000. */
    attemptTimeout?: number;
    /** The most attempts. Default 8. */
    attempts?: number;
    /** Stops waiting. The key is kept: the request may have arrived. */
    signal?: AbortSignal | null;
    onState?: (state: State) => void;
}
/** How long to wait after an attempt, in milliseconds: full jitter, and never less than the server asked for. */
export declare function waitAfter(attempt: number, retryAfterMs?: number, random?: () => number): number;
/**
 * A definitive answer. The body of one that is a stream or longer than 1 MiB is still on its way: its reader gets a SemelError of the
 * kind unknown when it breaks off, and the verdict does not end the key.
 */
export interface Answer {
    response: Response;
    verdict: Verdict;
}
/**
 * Sends until there is a definitive answer. attempt sends once and must send the same each time. ended is called when the answer has
 * come whole and the key has served.
 * @throws SemelError when patience ends first; the signal's reason when it is aborted.
 */
export declare function retrying(attempt: (signal: AbortSignal) => Promise<Response>, key: string, patience?: Patience, ended?: (verdict: Verdict) => void): Promise<Answer>;
/** Adds the key to a request's headers. */
export declare function withKey(headers: HeadersInit | undefined, key: string): Headers;
