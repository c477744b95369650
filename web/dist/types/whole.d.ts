/** The longest answer that is read within its attempt, in bytes; the rest of a longer one is the caller's to read. */
export declare const maxAnswerBytes: number;
/**
 * Reads a copy of an answer. Undefined for a stream, and for one that is longer than maxAnswerBytes: whether they are whole, their
 * reader finds out. It rejects when the answer breaks off, which counts as lost (RFC 9112, section 8).
 */
export declare function whole(response: Response): Promise<Blob | undefined>;
/** Whether an answer goes on for as long as its server likes. */
export declare function isStream({ body, headers }: Response): boolean;
/** Reads a body; undefined when it is longer than maxAnswerBytes. */
export declare function drained(body: ReadableStream<Uint8Array<ArrayBuffer>> | null): Promise<Blob | undefined>;
/** The answer, whose reader learns by failed what an error on the way means. ended is called at the end of its body. */
export declare function watched(response: Response, ended: () => void, failed: (cause: unknown) => Error): Response;
