/** The longest answer that is read within its attempt, in bytes; the rest of a longer one is the caller's to read. */
export const maxAnswerBytes = 1 << 20;

const streams = /^\s*(text\/event-stream|application\/x-ndjson|multipart\/x-mixed-replace|application\/grpc(-web.*|\+.*)?)\s*(;|$)/i;

/**
 * Reads a copy of an answer. Undefined for a stream, and for one that is longer than maxAnswerBytes: whether they are whole, their
 * reader finds out. It rejects when the answer breaks off, which counts as lost (RFC 9112, section 8).
 */
export async function whole(response: Response): Promise<Blob | undefined> {
  if (streams.test(response.headers.get("Content-Type") ?? "")) return undefined;
  const reader = response.clone().body?.getReader();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (let left = maxAnswerBytes; reader; ) {
    const { done, value } = await reader.read();
    if (done) break;
    if ((left -= value.byteLength) < 0) return void reader.cancel().catch(() => undefined);
    pieces.push(value);
  }
  return new Blob(pieces);
}

/** The answer, whose reader learns by failed what an error on the way means. ended is called at the end of its body. */
export function watched(response: Response, ended: () => void, failed: (cause: unknown) => Error): Response {
  const reader = response.body!.getReader();
  const body = new ReadableStream({
    async pull(control) {
      try {
        const { done, value } = await reader.read();
        if (!done) return control.enqueue(value);
        ended();
        control.close();
      } catch (cause) {
        control.error(failed(cause));
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return dressed(new Response(body, response), response);
}

/** A response of ours that says of itself what the browser's says, and so do its copies. */
function dressed(bare: Response, { url, redirected, type }: Response): Response {
  const clone = (): Response => dressed(Response.prototype.clone.call(bare), bare);
  return Object.defineProperties(bare, { url: { value: url }, redirected: { value: redirected }, type: { value: type }, clone: { value: clone } });
}
