import { maxEntryBytes, maxFill, QueueError, type Answer, type Entry } from "./entry.js";

/** What can be queued as a body. Plain objects and arrays are sent as JSON. */
export type Body = string | FormData | Blob | URLSearchParams | ArrayBuffer | ArrayBufferView<ArrayBuffer> | object | null;

/** The bytes of a body, and the Content-Type they need. Every attempt sends the same bytes, including a form's boundary. */
export async function bytesOf(body: Body): Promise<{ bytes: ArrayBuffer | null; type: string | null }> {
  if (body === null) return { bytes: null, type: null };
  const known = typeof body === "string" || body instanceof FormData || body instanceof Blob ||
    body instanceof URLSearchParams || body instanceof ArrayBuffer || ArrayBuffer.isView(body);
  const whole = new Response(known ? (body as BodyInit) : JSON.stringify(body));
  const bytes = await whole.arrayBuffer();
  if (bytes.byteLength > maxEntryBytes) {
    throw new QueueError("too-large", `the body has ${bytes.byteLength} bytes; the queue takes at most ${maxEntryBytes}`);
  }
  return { bytes, type: known ? whole.headers.get("Content-Type") : "application/json" };
}

/** Says what is wrong with the pairs of fill, or nothing. */
export function checkFill(fill: Readonly<Record<string, string>>, url: string): void {
  const pairs = Object.entries(fill);
  if (pairs.length > maxFill) throw new QueueError("invalid", `fill has ${pairs.length} pairs; at most ${maxFill}`);
  for (const [to, from] of pairs) {
    if (from !== "" && !from.startsWith("/")) throw new QueueError("invalid", `fill: ${from} is no JSON pointer`);
    if (/^\{[^{}]+\}$/.test(to) ? !url.includes(to) : !to.startsWith("/")) {
      throw new QueueError("invalid", `fill: ${to} is neither a JSON pointer nor a placeholder in the address`);
    }
  }
}

/**
 * A child with the values of its parent's answer filled in, and no longer
 * waiting for it. Undefined when the answer does not hold them.
 */
export function filled<Some extends Omit<Entry, "seq">>(
  child: Some, body: ArrayBuffer | null, answer: Answer | undefined,
): { entry: Some; body: ArrayBuffer | null } | undefined {
  const { after: _, fill, reason: __, ...rest } = child;
  const entry = rest as unknown as Some;
  const pairs = Object.entries(fill ?? {});
  if (pairs.length === 0) return { entry, body };
  try {
    const source = JSON.parse(answer?.text ?? "") as unknown;
    let { url } = entry;
    let target: unknown = pairs.some(([to]) => to.startsWith("/")) ? JSON.parse(new TextDecoder().decode(body!)) : undefined;
    for (const [to, from] of pairs) {
      const value = get(source, from);
      if (to.startsWith("/")) target = set(target, to, value);
      else url = url.replaceAll(to, () => encodeURIComponent(word(value)));
    }
    if (target !== undefined) body = new TextEncoder().encode(JSON.stringify(target)).buffer as ArrayBuffer;
    return { entry: { ...entry, url }, body };
  } catch {
    return undefined;
  }
}

const members = (pointer: string): string[] =>
  pointer.split("/").slice(1).map((member) => member.replace(/~1/g, "/").replace(/~0/g, "~"));

/** The value at a JSON pointer (RFC 6901). @throws TypeError when there is none. */
function get(source: unknown, pointer: string): unknown {
  let value = source;
  for (const member of members(pointer)) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, member)) throw new TypeError(`nothing at ${pointer}`);
    value = (value as Record<string, unknown>)[member];
  }
  return value;
}

/** Puts a value at a JSON pointer, whose parent must be there. */
function set(target: unknown, pointer: string, value: unknown): unknown {
  const path = members(pointer);
  const last = path.pop()!;
  const parent = get(target, path.map((member) => "/" + member.replace(/~/g, "~0").replace(/\//g, "~1")).join(""));
  if (typeof parent !== "object" || parent === null) throw new TypeError(`nothing holds ${pointer}`);
  // Not by assignment: a member may be called __proto__.
  Object.defineProperty(parent, last, { value, enumerable: true, configurable: true, writable: true });
  return target;
}

/** A value as a part of an address. */
function word(value: unknown): string {
  if (typeof value === "string" && value !== "") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new TypeError("not a word for an address");
}
