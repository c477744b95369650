/**
 * News for other tabs that something changed: nothing but a reason to look into
 * the database again. Lost or repeated news do no harm.
 */
export interface News {
    tell(): void;
    close(): void;
}
/** Listens and tells by BroadcastChannel, or by the storage event where there is none. */
export declare function openNews(name: string, listener: () => void): News;
