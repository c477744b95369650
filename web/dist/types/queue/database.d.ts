/** The version of the layout. A page with an older one refuses to work on a newer database. */
export declare const version = 1;
/** What work sees of the database: one transaction. */
export interface Tx {
    store(name: Store): IDBObjectStore;
}
/** entries and bodies: by seq. state: the current owner, and the lease if Web Locks are missing. */
export type Store = "entries" | "bodies" | "state";
/** The promise of one request. */
export declare function got<T>(request: IDBRequest<T>): Promise<T>;
/**
 * The queue's database, opened when it is first needed and again after it was
 * closed by the browser. Every method rejects with a QueueError.
 */
export declare class Database {
    #private;
    private readonly name;
    private readonly factory;
    private readonly opened?;
    /** opened is called with every connection: the database may have been deleted since the last one, and be new and empty. */
    constructor(name: string, factory: () => IDBFactory, opened?: (() => void) | undefined);
    /**
     * Runs work in one transaction, and resolves when that is complete: with
     * readwrite, on the disk. When it rejects, nothing is written, not later either.
     */
    transact<T>(mode: "readonly" | "readwrite", work: (tx: Tx) => Promise<T>): Promise<T>;
    /** Writes one value of state while the page goes away: one request is all there is time for, without waiting. */
    putLast(key: string, value: unknown): void;
    close(): void;
}
