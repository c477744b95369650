/** Mints a key: a version 4 UUID, 122 random bits. On plain http crypto.randomUUID is missing. */
export function newKey(): string {
  return "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (digit) => {
    const random = crypto.getRandomValues(new Uint8Array(1))[0]! & 15;
    return (digit === "8" ? (random & 3) | 8 : random).toString(16);
  });
}

/** The longest key that servers have to accept. */
export const maxKeyLength = 255;

/**
 * Writes a key as the value of the Idempotency-Key header: a quoted string.
 * @throws TypeError when the key is empty, too long, or holds something else than visible ASCII and spaces.
 */
export function quoteKey(key: string): string {
  if (!/^[\x20-\x7e]+$/.test(key) || key.length > maxKeyLength) {
    throw new TypeError(`a key has 1 to ${maxKeyLength} characters of printable ASCII`);
  }
  return `"${key.replace(/["\\]/g, "\\$&")}"`;
}

/** The key in the headers of a request, quoted or not; undefined for none. */
export function keyIn(headers: Headers, name = "Idempotency-Key"): string | undefined {
  const value = headers.get(name) ?? undefined;
  return value?.match(/^"((\\.|[^"])*)"/)?.[1]!.replace(/\\(.)/g, "$1") ?? value;
}
