import { type QueueOptions } from "./queue/queue.js";
/** The settings of the service worker. All have defaults. */
export interface WorkerOptions extends Omit<QueueOptions, "owner"> {
    /** Addresses that load without a network: the page and all it needs. They must not redirect. Default none. */
    shell?: readonly string[];
    /** Names this version of the shell; this worker's caches of other versions are removed. Default "1". */
    shellVersion?: string;
}
declare global {
    /** What the script semel/sw defines; it is not a module, so that importScripts can load it everywhere. */
    var semelWorker: {
        serveQueue: typeof serveQueue;
    };
}
/**
 * Makes this service worker send what waits: when the browser wakes it because
 * there is a network (Background Sync), and when a page asks. Call it once, at
 * the top of the worker's file. Pages and worker exclude each other, and it
 * sends for the current owner only.
 */
export declare function serveQueue(options?: WorkerOptions): void;
