import { changes, contentOf, digest, hash, type Part } from "./digest.js";
import { onlyReads } from "./graphql.js";
import type { Asked } from "./page-route.js";
import { attempt } from "./storage.js";
import { drained, maxAnswerBytes as maxBytes } from "./whole.js";
import { pause } from "./page-answer.js";

/** What is known of a request: its digest, and that without what may be the state of the page. Else why it gets no key; "" for one that changes nothing. */
export type Content = readonly [digest: string, rough: string] | "large" | "stream" | "";

type Json = string | boolean | null | Json[] | { [name: string]: Json };

/** Reads JSON with numbers as the text that they are, after "#"; names and strings begin with "$". */
function parse(text: string): Json | undefined {
  const marked = (all: string, string?: string): string => (string === undefined ? `"#${all}"` : `"$${string}"`);
  return attempt(() => JSON.parse(text.replace(/"([^"\\]*(?:\\.[^"\\]*)*)"|-?\d[\d.eE+-]*/g, marked)) as Json);
}

/** The text that all JSON of this meaning has. */
function canonical(value: Json): string {
  return JSON.stringify(value, (_, each: Json) =>
    isObject(each) ? Object.fromEntries(Object.keys(each).sort().map((name) => [name, each[name]])) : each);
}

function isObject(value: Json | undefined): value is { [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether JSON is one GraphQL request or some, none of which changes anything. */
function reads(value: Json | undefined): boolean {
  const all = Array.isArray(value) ? value : [value];
  const said = (text: Json | undefined): string => (typeof text === "string" ? text.slice(1) : "");
  return all.length > 0 && all.every((each) => isObject(each) && onlyReads(said(each.$query), said(each.$operationName)));
}

/** The digests of a request whose content these parts are, and of one whose content those are. */
function digestsOf({ method, url, action }: Asked, parts: readonly Part[], rough = parts): Content {
  const all = (each: readonly Part[]): string => digest([["method", method], ["url", url], ["action", action ?? ""], ...each]);
  return [all(parts), rough === parts ? all(parts) : all(rough)];
}

/**
 * A React Server Action's arguments, and the same without the one before the last: where useActionState is at work that is its previous state,
 * which every answer changes. A form that the server has drawn says so by a field; else it may be bound by the page, and counts.
 */
function argumentsOf(text: string, fields: readonly Part[], stateful: boolean, asked: Asked): Content {
  const values = parse(text);
  const parts = (kept: Json): Part[] => [["arguments", canonical(kept)], ...fields];
  if (!Array.isArray(values) || values.length < 2) return digestsOf(asked, parts(values ?? text));
  const rest = parts(values.filter((_, n) => n !== values.length - 2));
  return digestsOf(asked, stateful ? rest : parts(values), rest);
}

function textContent(text: string, asked: Asked): Content {
  const { ignore = [], graphql } = asked.route;
  if (text.length > maxBytes) return "large";
  if (asked.action) return argumentsOf(text, [], false, asked);
  const json = parse(text);
  if (graphql !== false && (reads(json) || (graphql && json === undefined && onlyReads(text)))) return "";
  if (isObject(json)) {
    for (const name of Object.keys(json).map((each) => each.slice(1))) {
      if (changes(name) || ignore.includes(name)) delete json["$" + name];
    }
  }
  return digestsOf(asked, [["body", json === undefined ? text : canonical(json)]]);
}

function formContent(fields: Iterable<[string, FormDataEntryValue]>, asked: Asked): Content {
  const { ignore, graphql } = asked.route;
  const all = [...fields];
  const value = (wanted: string): string => String(all.find(([name]) => name === wanted)?.[1] ?? "");
  if (asked.action) {
    const own = /^(\d+_)?\$ACTION_/;
    const args = contentOf(all.filter(([name]) => name !== "0" && !own.test(name)), new Set(ignore));
    return argumentsOf(value("0"), args, all.some(([name]) => name.endsWith("$ACTION_KEY")), asked);
  }
  if (graphql !== false && (reads(parse(value("operations"))) || (graphql && onlyReads(value("query"), value("operationName"))))) return "";
  return digestsOf(asked, contentOf(all, new Set(ignore)));
}

function bytesContent(bytes: BufferSource, asked: Asked): Content {
  if (bytes.byteLength > maxBytes) return "large";
  const text = attempt(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  return text === undefined ? digestsOf(asked, [["bytes", latin1(bytes)]]) : textContent(text, asked);
}

function isBytes(body: unknown): body is ArrayBuffer | ArrayBufferView<ArrayBuffer> {
  return body instanceof ArrayBuffer || ArrayBuffer.isView(body);
}

function bytesOf(body: ArrayBuffer | ArrayBufferView<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return body instanceof ArrayBuffer ? new Uint8Array(body) : new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
}

function latin1(bytes: BufferSource): string {
  return new TextDecoder("latin1").decode(bytes);
}

/** A body that stays as it is, whatever the application does with its own. */
export function copyOf<T>(body: T): T {
  const copy = (): unknown => {
    if (body instanceof URLSearchParams) return new URLSearchParams(body);
    if (isBytes(body)) return body.byteLength > maxBytes ? body : new Uint8Array(bytesOf(body));
    if (!(body instanceof FormData)) return body;
    const form = new FormData();
    for (const [name, value] of body) form.append(name, value as string);
    return form;
  };
  return copy() as T;
}

/** Numbers the Blobs that cannot be read in time: the same one has the same content. */
const seen = new WeakMap<Blob, number>();
let blobs = 0;

/** What a request's body says at once: files are known by their names, sizes and times. */
export function contentNow(body: unknown, asked: Asked): Content {
  if (typeof body === "string" || body == null) return textContent(body ?? "", asked);
  if (body instanceof FormData || body instanceof URLSearchParams) return formContent(body, asked);
  if (isBytes(body)) return bytesContent(body, asked);
  if (!(body instanceof Blob)) return "stream";
  const { name, lastModified } = body as Partial<File>;
  if (name === undefined && !seen.has(body)) seen.set(body, ++blobs);
  return digestsOf(asked, [["file", `${name ?? `${seen.get(body)} ${performance.timeOrigin}`} ${body.size} ${lastModified} ${body.type}`]]);
}

/** Whether a body has something that takes time to be read. */
export function hasFiles(body: unknown): body is Blob | FormData {
  return body instanceof Blob || (body instanceof FormData && [...body.values()].some((each) => typeof each !== "string"));
}

/** What a body says, with what short files hold. */
export async function contentLater(body: Blob | FormData, asked: Asked): Promise<Content> {
  if (body instanceof Blob) {
    if (body.size <= maxBytes) return bytesContent(await body.arrayBuffer(), asked);
    return body instanceof File ? contentNow(body, asked) : "large";
  }
  const known: [string, FormDataEntryValue][] = [];
  let room = maxBytes;
  for (const [name, value] of body) {
    const read = typeof value !== "string" && (room -= value.size) >= 0;
    known.push([name, read ? `file ${value.name} ${value.type} ${hash(latin1(await value.arrayBuffer()))}` : value]);
  }
  return formContent(known, asked);
}

/** How long the body of a Request may take to be read, in milliseconds: one that takes longer is a stream. */
const bodyMs = 250;

/** What the body of a Request says. */
export async function contentOfRequest(request: Request, asked: Asked): Promise<Content> {
  const type = request.headers.get("Content-Type") ?? "";
  const read = (request.body ? drained(request.body) : request.blob()).then((blob) => blob ?? "large");
  const bytes = await Promise.race([read, pause(bodyMs).then(() => "stream" as const)]);
  if (typeof bytes === "string") return bytes;
  if (!/^\s*(multipart\/form-data|application\/x-www-form-urlencoded)/i.test(type)) return contentLater(bytes, asked);
  return contentLater(await new Response(bytes, { headers: { "Content-Type": type } }).formData(), asked);
}
