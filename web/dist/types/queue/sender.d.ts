import type { Database } from "./database.js";
/** The most requests under way at a time, of different groups. */
export declare const maxParallel = 4;
/** How long an answer may take. After that the same key is sent again. */
export declare const answerMs = 60000;
export interface SenderOptions {
    name: string;
    database: Database;
    /** The owner of the entries to send. */
    owner: () => Promise<string>;
    /** The request header that carries the key. */
    header: string;
    /** Headers that must be fresh, such as a bearer token; asked for with each attempt, never kept. */
    headers: (() => HeadersInit | Promise<HeadersInit>) | undefined;
    /** Whether the answer to a request to sentTo is a page that asks to sign in. */
    signedOut: (response: Response, sentTo: string) => boolean;
    fetch: typeof fetch;
    locks: LockManager | undefined;
    leaseMs: number;
    now: () => number;
    random: () => number;
    /** Called after everything that was written. */
    changed: () => void;
}
/** Sends what can be sent. There may be many in an origin; one of them works at a time. */
export declare class Sender {
    #private;
    private readonly options;
    constructor(options: SenderOptions);
    /** Something was added or changed: look again, even while requests are under way. */
    poke(): void;
    /**
     * Waits for the right to send, sends all that can be sent now, and returns
     * how long until there may be more: Infinity when that is up to the network, undefined when nothing waits for its time.
     */
    pass(hurry: boolean, signal: AbortSignal): Promise<number | undefined>;
}
