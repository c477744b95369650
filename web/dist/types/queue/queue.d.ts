import { type Body } from "./body.js";
import { QueueError, type Answer, type Reason, type State } from "./entry.js";
export { QueueError, type Answer, type Reason, type State, type Trouble, type Word } from "./entry.js";
export { maxAnswerBytes, maxDone, maxEntries, maxEntryBytes } from "./entry.js";
export { defineQueueStatus, type StatusOptions } from "./status.js";
export { queueTexts, refusalText, type QueueTexts } from "./texts.js";
export type { Body } from "./body.js";
/** The tag of Background Sync, and what a message to the service worker says. */
export declare const syncTag = "semel-queue";
/** The settings of a queue. All have defaults. */
export interface QueueOptions {
    /** The database's name; tabs, service worker and all share one by it. Default "semel-queue". */
    name?: string;
    /**
     * The account that these entries belong to, by its id. It becomes the current owner of
     * the origin; entries of another one stay where they are and are not sent.
     * undefined takes the one that is current. Default "".
     */
    owner?: string | undefined;
    /** The request header that carries the key. Default "Idempotency-Key". */
    header?: string;
    /** Headers that must be fresh with each attempt, such as a bearer token. They are never kept. */
    headers?: () => HeadersInit | Promise<HeadersInit>;
    /** Whether the answer to a request to sentTo is a page that asks to sign in. Default: it was redirected to an address like /login. */
    signedOut?: (response: Response, sentTo: string) => boolean;
    /** What is used instead of the browser's own; for tests. */
    environment?: Partial<Environment>;
}
/** What the queue uses of its surroundings. */
export interface Environment {
    indexedDB: () => IDBFactory;
    fetch: typeof fetch;
    locks: LockManager | undefined;
    leaseMs: number;
    now: () => number;
    random: () => number;
}
/** What to send. */
export interface Intent {
    /** Default "POST". */
    method?: string;
    /** May hold a key, such as that of a SemelError, under which the intent goes on. Default: a fresh one. */
    headers?: HeadersInit;
    /** Default null. */
    body?: Body;
    /** Default "same-origin". */
    credentials?: RequestCredentials;
    /** Intents of one group are sent in their order. Default "". */
    group?: string;
    /** The id of an entry whose answer must have come before. */
    after?: string;
    /**
     * Values of that answer and where they go: from JSON pointers in the answer,
     * to JSON pointers in this body, or placeholders of this address such as {id}.
     */
    fill?: Readonly<Record<string, string>>;
    /** What the person calls it, shown when it was set aside. Default: the address. */
    label?: string;
    /** A form's field that carries the key in addition to the header; for bodies that are FormData or URLSearchParams. */
    keyField?: string;
}
/** An entry as the app sees it. */
export interface Item {
    id: string;
    key: string;
    label: string;
    url: string;
    method: string;
    group: string;
    after: string | undefined;
    createdAt: Date;
    attempts: number;
    state: State;
    reason: Reason | undefined;
    /** The answer of an entry that is done. */
    answer: Answer | undefined;
}
/**
 * A queue of intents that survives reloads, crashes and days without a network.
 * Every intent is on the disk, with its key, before anything is sent; it is sent
 * under that key until a definitive answer comes. Any number of tabs, and the
 * service worker, may have the queue open; one sends at a time.
 */
export declare class Queue {
    #private;
    /** Opens nothing yet: the first method does, and says what is wrong with the storage. @throws TypeError for a header that has no such name. */
    constructor(options?: QueueOptions);
    /**
     * Keeps an intent. It resolves when the intent is on the disk: from then on it
     * will be sent, by this page or by another. When it rejects, with a
     * QueueError, nothing was kept and nothing will be sent.
     */
    add(url: string | URL, intent?: Intent): Promise<Item>;
    /** What is in the queue for this owner, in order; also what is done, as long as that is kept. */
    list(): Promise<Item[]>;
    /** Sends an entry that was set aside, or that waits, again and now: under the same key. */
    retry(id: string): Promise<void>;
    /** Puts a new intent with a new key in the place of an entry. What waited for its answer waits for the new one's. */
    edit(id: string, url: string | URL, intent?: Intent): Promise<Item>;
    /** Forgets an entry. It takes nothing back that an attempt may have done; what waited for its answer is set aside. */
    discard(id: string): Promise<void>;
    /** The person has signed in again: what waited for that is sent now. */
    resume(): Promise<void>;
    /**
     * Signs out: no tab and no worker sends anything until a
     * queue is opened with an owner. Entries stay.
     */
    signOut(): Promise<void>;
    /**
     * Sends all that can be sent now, and resolves when that is done; whether
     * something still waits, list() tells. Calls while it works are one more round.
     */
    drain(): Promise<void>;
    /** drain(), for a moment at which the network may be back: what had no answer does not wait for its time. */
    hurry(): Promise<void>;
    /** Calls listener after every change, in whatever tab. Returns what ends that. */
    subscribe(listener: () => void): () => void;
    /** What keeps the queue from working; undefined when nothing does. */
    get trouble(): QueueError | undefined;
    /** Stops sending and lets go of the database. What is under way is sent again later, under its key. */
    close(): Promise<void>;
}
/** Opens a queue and begins to send what waits. */
export declare function openQueue(options?: QueueOptions): Queue;
