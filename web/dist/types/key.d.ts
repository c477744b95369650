/** Mints a key: a version 4 UUID, 122 random bits. On plain http crypto.randomUUID is missing. */
export declare function newKey(): string;
/** The longest key that servers have to accept. */
export declare const maxKeyLength = 255;
/**
 * Writes a key as the value of the Idempotency-Key header: a quoted string.
 * @throws TypeError when the key is empty, too long, or holds something else than visible ASCII and spaces.
 */
export declare function quoteKey(key: string): string;
/** The key in the headers of a request, quoted or not; undefined for none. */
export declare function keyIn(headers: Headers, name?: string): string | undefined;
