/**
 * What the queue keeps of one intent, and the states it goes through:
 *
 *                       add()
 *                         │   one transaction, on the disk before add() resolves
 *                         ▼      begin: one transaction
 *        ┌───────────▶ waiting ─────────────────────────▶ sending
 *        │                ▲  ▲                            │  │  │
 *        │                │  └── no answer, 5xx, 429, ────┘  │  │
 *        │ retry()        │      in-flight: later, same key  │  │
 *        │ (same key)     └── asked to sign in: all of ──────┤  │
 *        │                    the owner's entries pause      │  │
 *        │                                  definitive 4xx,  │  │ 2xx, or a refusal
 *     set-aside ◀────────────── mismatch, unknown, cancelled ┘  │ that says it was done
 *        │                                                      ▼
 *        ├── edit(): another intent, another key ──▶ waiting   done ──▶ forgotten,
 *        └── discard() ──▶ forgotten                             the oldest first
 *
 * A tab that dies leaves "sending" behind. The next sender treats it as
 * "waiting": the key is the same, so the server decides what happened. The
 * server is authoritative for what was done, the database for what is wanted;
 * nothing is kept in memory only.
 */
export interface Entry {
    /** The place in the queue; given by the database, so no clock is involved. */
    seq: number;
    id: string;
    key: string;
    /** The account it belongs to. Entries are sent only while this owner is the current one. */
    owner: string;
    url: string;
    method: string;
    /** Without the key, which is added with each attempt. */
    headers: [name: string, value: string][];
    credentials: RequestCredentials;
    /** Entries of one group are sent in their order. */
    group: string;
    /** The entry whose answer this one needs first. Gone when that answer came. */
    after?: string;
    /** Where values of the parent's answer go: {"/customer_id": "/id", "{order}": "/id"}. */
    fill?: Readonly<Record<string, string>>;
    /** What a person calls it. */
    label: string;
    /** When it was added, by this machine's clock. Shown to people, never compared. */
    createdAt: number;
    attempts: number;
    state: State;
    reason?: Reason;
    /** An attempt was answered by a page that asks to sign in. */
    metSignIn?: boolean;
    /** When the next attempt may start, and how long that was from then: both, because clocks jump. */
    retryAt?: number;
    delayMs?: number;
    /** The answer that ended it. */
    answer?: Answer;
}
export type State = "waiting" | "sending" | "set-aside" | "done";
/** Why an entry waits, or was set aside. */
export interface Reason {
    word: Word;
    /** The status of the answer. */
    status?: number;
    /** What the server said, at most maxDetail characters. */
    detail?: string;
}
export type Word = 
/** Nothing came back: no network, a lost answer, a server that is down. */
"no-answer"
/** The server asked to come back later. */
 | "unavailable"
/** An earlier attempt is still at work there. */
 | "in-flight"
/** 401, 403, or sent to a sign-in page: everything of this owner waits. */
 | "sign-in"
/** The entry that it needs has not been sent yet. */
 | "parent"
/** The entry that it needs was set aside. */
 | "parent-set-aside"
/** The server refuses it for good. */
 | "rejected"
/** The key was used for something else. */
 | "mismatch"
/** It is not known whether it was done: while it waits, the server will find out; when it was set aside, it will not. */
 | "unknown"
/** An operator cancelled it. */
 | "cancelled"
/** It was done, and the server cannot repeat its answer. */
 | "not-kept"
/** The entry that it needs was discarded. */
 | "parent-discarded"
/** The parent's answer does not hold what it needs. */
 | "parent-answer";
/** What is kept of an answer. */
export interface Answer {
    status: number;
    /** The body, when it was text of at most maxAnswerBytes. */
    text?: string;
}
/** The most entries that are not done, of all owners. */
export declare const maxEntries = 1000;
/** The largest body of one entry, in bytes. */
export declare const maxEntryBytes: number;
/** The most entries that are done and still kept, for children that come later and for the app to look at. */
export declare const maxDone = 50;
/** The longest answer that is kept, in bytes. */
export declare const maxAnswerBytes: number;
/** The longest text of a server that is kept with a reason, in characters. */
export declare const maxDetail = 300;
/** The most pairs in fill. */
export declare const maxFill = 20;
/** What went wrong with the queue itself. */
export type Trouble = "storage-disabled" | "storage-full" | "storage-newer" | "storage-blocked" | "storage-failed" | "queue-full" | "too-large" | "invalid" | "no-parent" | "not-found" | "being-sent" | "closed";
/** What the queue's methods reject with. When add() rejects, nothing was stored and nothing will be sent. */
export declare class QueueError extends Error {
    readonly code: Trouble;
    readonly name = "QueueError";
    constructor(code: Trouble, message: string, options?: ErrorOptions);
}
/**
 * How long until an entry may be sent, in milliseconds. A clock that was set forth ends the pause, and so does one that
 * was set back: otherwise the pause would last until the clock is there again, which may be days.
 */
export declare function waitMs(entry: Entry, now: number): number;
