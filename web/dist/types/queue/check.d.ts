import type { Intent } from "./queue.js";
/** @throws QueueError unless the value is a string that names something. */
export declare function name(what: string, value: unknown): void;
/** @throws QueueError for an intent with members of another kind or name: what they hold would not be sent. */
export declare function checkIntent(intent: Intent): void;
/** @throws QueueError for a request that no browser sends: it would be tried for ever. */
export declare function checkRequest(address: string, init: RequestInit, key: string): void;
