import type { Queue } from "./queue.js";
import { type QueueTexts } from "./texts.js";
export interface StatusOptions {
    /** Texts that replace those of the language. */
    texts?: Partial<QueueTexts>;
}
/**
 * Defines <semel-queue-status>, which tells what waits to be sent and lets the
 * person decide about what was set aside. It has a style of its own and runs
 * under a policy against inline styles. Only the first call for a name counts.
 */
export declare function defineQueueStatus(queue: Queue, options?: StatusOptions, name?: string): void;
