/** What is remembered of a draft, from its first rendering until its storage is cleared. */
export interface Record {
    /** The key, or the gateway's token. */
    key: string;
    /** The digest of the content that was sent with it; missing until something was sent. */
    digest?: string | undefined;
    /** A definitive answer came: the next draft gets another key. */
    ended?: boolean | undefined;
    /** The form's token that semelFetch sent with it; empty when none was sent. */
    token?: string | undefined;
    /** The rendering of a form that sent it. */
    sender?: string;
    /** The history entry of the page that holds the form. */
    entry?: string | undefined;
    /** The page's address, for browsers that do not name history entries. */
    page?: string;
    /** The address that it was sent to, without its fragment. */
    goal?: string | undefined;
    /** The page went away while the submission was the last navigation that was asked for. */
    left?: boolean | undefined;
    /** What to say when the answer was a repetition's, and in which language. */
    text?: string;
    language?: string;
    /** When it was written, by this machine's clock. Only used to forget the oldest first. */
    at: number;
}
/** Where records are kept. No method throws: without storage a shelf works in memory, as long as the page lives. */
export interface Shelf {
    get(name: string): Record | undefined;
    put(name: string, record: Omit<Record, "at">): void;
    drop(name: string): void;
    names(): string[];
}
/** The most records in one storage; the oldest are forgotten first, those that still wait for an answer last. */
export declare const maxRecords = 64;
/** A shelf in the storage that open returns. open may throw, and so may all of the storage's methods. */
export declare function shelf(open: () => Storage): Shelf;
/** What it returns, or undefined when it throws. */
export declare function attempt<T>(what: () => T): T | undefined;
