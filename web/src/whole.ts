/** The longest answer that is read within its attempt, in bytes; the rest of a longer one is the caller's to read. */
export const maxAnswerBytes = 1 << 20;

const streams = /^\s*(text\/event-stream|application\/x-ndjson|multipart\/x-mixed-replace|application\/grpc(-web.*|\+.*)?)\s*(;|$)/i;

/**
 * Reads a copy of an answer. Undefined for a stream, and for one that is longer than maxAnswerBytes: whether they are whole, their
 * reader finds out. It rejects when the answer breaks off, which counts as lost (RFC 9112, section 8).
 */
export async function whole(response: Response): Promise<Blob | undefined> {
  if (isStream(response)) return undefined;
  const { body } = response.clone();
  const said = await drained(body);
  if (said && body) checkLength(response, said.size);
  return said;
}

/** Whether an answer goes on for as long as its server likes. */
export function isStream({ body, headers }: Response): boolean {
  return body !== null && streams.test(headers.get("Content-Type") ?? "");
}

/** Reads a body; undefined when it is longer than maxAnswerBytes. */
export async function drained(body: ReadableStream<Uint8Array<ArrayBuffer>> | null): Promise<Blob | undefined> {
  const reader = body?.getReader();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (let size = 0; reader; ) {
    const { done, value } = await reader.read();
    if (done) break;
    if ((size += value.byteLength) > maxAnswerBytes) return void reader.cancel().catch(() => undefined);
    pieces.push(value);
  }
  return new Blob(pieces);
}

/** Over HTTP/2 Chromium takes an answer that ends early for a whole one. Across origins it does not tell the coding. */
function checkLength({ headers, type }: Response, size: number): void {
  const length = type === "basic" && !headers.has("Content-Encoding") && headers.get("Content-Length");
  if (length && size < Number(length)) throw new TypeError(`${size} of ${length} bytes came`);
}

/** The answer, whose reader learns by failed what an error on the way means. ended is called at the end of its body. */
export function watched(response: Response, ended: () => void, failed: (cause: unknown) => Error): Response {
  const reader = response.body!.getReader();
  let size = 0;
  let broken: Error | undefined;
  const body = new ReadableStream({
    async pull(control) {
      try {
        const { done, value } = await reader.read();
        if (!done) {
          size += value.byteLength;
          return control.enqueue(value);
        }
        checkLength(response, size);
        ended();
        control.close();
      } catch (cause) {
        control.error((broken = failed(cause)));
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return dressed(new Response(body, response), response, () => broken);
}

/** A response of ours that says of itself what the browser's says, and so do its copies. Chromium's methods hide the stream's error. */
function dressed(bare: Response, { url, redirected, type }: Response, broken: () => Error | undefined): Response {
  const own: { [name: string]: unknown } = { url, redirected, type };
  own.clone = () => dressed(Response.prototype.clone.call(bare), bare, broken);
  for (const name of ["arrayBuffer", "blob", "formData", "json", "text"] as const) {
    own[name] = () => (Response.prototype[name].call(bare) as Promise<unknown>).catch((cause: unknown) => {
      throw broken() ?? cause;
    });
  }
  for (const [name, value] of Object.entries(own)) Object.defineProperty(bare, name, { value });
  return bare;
}
