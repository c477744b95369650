import { type Sent } from "./page-wish.js";
/** Waits so long, or until the signal is aborted. */
export declare function pause(ms: number, signal?: AbortSignal | null): Promise<void>;
/** Ends the wish when its answer is definitive and comes whole; of a long one without a length a MiB is enough. The application reads its own copy. */
export declare function follow(response: Response, wish: Sent, url: string): void;
