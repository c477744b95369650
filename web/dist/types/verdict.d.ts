/** What an answer means to who sent a request with a key. */
export type Kind = "done" | "rejected" | "in-flight" | "mismatch" | "unknown" | "cancelled" | "not-kept" | "duplicate" | "unavailable";
/** A judged answer. */
export interface Verdict {
    kind: Kind;
    /** Sending the same request under the same key again brings nothing new. */
    definitive: boolean;
    /** The key has served: the next wish of this name gets another one. */
    ends: boolean;
    /** This is an earlier attempt's answer. */
    replayed: boolean;
    /** How long to wait before the next attempt, if the server says so. */
    retryAfterMs?: number;
    /** The problem document, if there is one. */
    problem?: Problem;
}
/** A problem document (RFC 9457). */
export interface Problem {
    type?: string;
    title?: string;
    status?: number;
    detail?: string;
    retryable?: boolean;
    [member: string]: unknown;
}
/** The largest problem document that is looked at; a longer one is judged by its status. */
export declare const maxProblemBytes = 65536;
/**
 * Judges an answer. The response can still be read afterwards. The page at the end of a redirect to a sign-in page is
 * no answer to the request: it was refused, and its key is kept. It rejects when a problem document breaks off, which is no
 * answer either, or has no end.
 */
export declare function verdict(response: Response): Promise<Verdict>;
/** Judges an answer by its status, headers and problem document. Nothing but Semel's own problem types is trusted. */
export declare function judge(status: number, headers: Headers, problem?: Problem): Verdict;
/** Whether a response is an earlier attempt's answer. */
export declare function replayed(response: Response): boolean;
/**
 * Reads a Retry-After header, in seconds or as a date, as milliseconds from now; undefined when there is none that can
 * be read. A date is read by this machine's clock, and one that has passed means now.
 */
export declare function retryAfter(value: string | null, now?: number): number | undefined;
