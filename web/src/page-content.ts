import { changes, contentOf, digest, hash, type Part } from "./digest.js";
import { onlyReads } from "./graphql.js";
import { newKey } from "./key.js";
import type { Asked } from "./page-route.js";
import { attempt } from "./storage.js";
import { drained, maxAnswerBytes as maxBytes } from "./whole.js";
import { bodyMs, pause } from "./page-answer.js";

/** The digest of a request, and one without an argument that may be the state of the page. Else why it gets no key; "" for one that changes nothing. */
export type Content = readonly [digest: string, rough?: string] | "large" | "stream" | "sync" | "";

type Json = string | boolean | null | Json[] | { [name: string]: Json };

/** Reads JSON with numbers as the text that they are: 7 is "$#7", and the string "7" is "$7#". */
function parse(text: string): Json | undefined {
  return attempt(() => JSON.parse(text.replace(/"([^"\\]*(?:\\.[^"\\]*)*)"|(-?\d[\d.eE+-]*)/g, '"$$$1#$2"')) as Json);
}

/** The text that all JSON of this meaning has. */
function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  return isObject(value) ? `{${Object.keys(value).sort().map((name) => JSON.stringify(name) + canonical(value[name]!))}}` : JSON.stringify(value);
}

function isObject(value: Json | undefined): value is { [name: string]: Json } {
  return Object(value) === value && !Array.isArray(value);
}

/** Whether JSON is one GraphQL request or some, none of which changes anything. */
function reads(value: Json | undefined): boolean {
  const all = Array.isArray(value) ? value : [value];
  const said = (text: Json | undefined): string => (typeof text === "string" ? text.slice(1, -1) : "");
  return all.length > 0 && all.every((each) => isObject(each) && onlyReads(said(each["$query#"]), said(each["$operationName#"])));
}

function digestOf({ method, url, action, said }: Asked, parts: readonly Part[]): string {
  return digest([["method", method], ["url", url], ["action", JSON.stringify([action, said])], ...parts]);
}

function textContent(text: string, asked: Asked): Content {
  const { ignore = [], graphql } = asked.route;
  if (asked.action) return formContent([["0", text]], asked);
  if (text.length > maxBytes) return "large";
  const json = parse(text);
  if (graphql !== false && reads(json)) return "";
  if (isObject(json)) {
    for (const name of Object.keys(json)) {
      const plain = name.slice(1, -1);
      if (changes(plain) || ignore.includes(plain)) delete json[name];
    }
  }
  return [digestOf(asked, [["body", json === undefined ? text : canonical(json)]])];
}

function formContent(fields: Iterable<[string, FormDataEntryValue]>, asked: Asked): Content {
  const all = [...fields];
  const value = (wanted: string): Json | undefined => parse(String(all.find(([name]) => name === wanted)?.[1]));
  if (asked.action) return actionContent(all, value("0"), asked);
  if (asked.route.graphql !== false && reads(value("operations"))) return "";
  return [digestOf(asked, contentOf(all, new Set(asked.route.ignore)))];
}

/**
 * The content of a React Server Action: its arguments, and the fields of the form among them. Where useActionState is at work the argument before the
 * last is its previous state, which every answer changes. A form that the server has drawn says so by a field; else it may be bound by the
 * page, and counts but within a click sequence.
 */
function actionContent(all: readonly [string, FormDataEntryValue][], values: Json | undefined, asked: Asked): Content {
  const own = /^(_\d+_)?\$ACTION_/;
  const fields = contentOf(all.filter(([name]) => !own.test(name) && (name !== "0" || !values)), new Set(asked.route.ignore));
  const of = (kept: Json): string => digestOf(asked, [["arguments", canonical(kept)], ...fields]);
  if (!Array.isArray(values)) return [of("")];
  const rest = of(values.filter((_, n) => n !== values.length - 2));
  return all.some(([name]) => name.endsWith("$ACTION_KEY")) ? [rest] : [of(values), rest];
}

function bytesContent(bytes: BufferSource, asked: Asked): Content {
  if (bytes.byteLength > maxBytes) return "large";
  const text = attempt(() => new TextDecoder("utf8", { fatal: true, ignoreBOM: true }).decode(bytes));
  return text === undefined ? [digestOf(asked, [["bytes", latin1(bytes)]])] : textContent(text, asked);
}

function isBytes(body: unknown): body is ArrayBuffer | ArrayBufferView<ArrayBuffer> {
  return body instanceof ArrayBuffer || ArrayBuffer.isView(body);
}

function latin1(bytes: BufferSource): string {
  return new TextDecoder("latin1").decode(bytes);
}

/** A copy, which stays the same when the application goes on with its own. */
export function copyOf(body: unknown): unknown {
  if (body instanceof URLSearchParams) return new URLSearchParams(body);
  if (isBytes(body)) return new Blob([body]);
  if (!(body instanceof FormData)) return body;
  const form = new FormData();
  for (const [name, value] of body) form.append(name, value as string);
  return form;
}

/** Names the Blobs that cannot be read in time: the same one has the same content. */
const seen = new WeakMap<Blob, string>();

/** The content of a body, at once: files are known by their names, sizes and times. */
export function contentNow(body: unknown, asked: Asked): Content {
  if (typeof body === "string" || body == null) return textContent(body ?? "", asked);
  if (body instanceof FormData || body instanceof URLSearchParams) return formContent(body, asked);
  if (isBytes(body)) return bytesContent(body, asked);
  if (!(body instanceof Blob)) return "stream";
  const { name, lastModified } = body as Partial<File>;
  if (name === undefined && !seen.has(body)) seen.set(body, newKey());
  return [digestOf(asked, [["file", `${name ?? seen.get(body)} ${body.size} ${lastModified} ${body.type}`]])];
}

/** The same, with what short files hold. */
export function contentOfBody(body: unknown, asked: Asked): Content | Promise<Content> {
  if (body instanceof Blob && body.size <= maxBytes) return body.arrayBuffer().then((bytes) => bytesContent(bytes, asked));
  if (body instanceof Blob && !(body instanceof File)) return "large";
  if (!(body instanceof FormData)) return contentNow(body, asked);
  let room = maxBytes;
  const fields = [...body].map(async ([name, value]): Promise<[string, FormDataEntryValue]> => {
    const read = typeof value !== "string" && (room -= value.size) >= 0;
    return [name, read ? `file ${value.name} ${value.type} ${hash(latin1(await value.arrayBuffer()))}` : value];
  });
  return [...body.values()].some((value) => typeof value !== "string") ? Promise.all(fields).then((all) => formContent(all, asked)) : contentNow(body, asked);
}

/** The content of the body of a Request. */
export async function contentOfRequest(request: Request, asked: Asked): Promise<Content> {
  const type = request.headers.get("Content-Type")!; // null matches nothing
  const read = (request.body ? drained(request.body) : request.blob()).then((blob) => blob ?? "large");
  const bytes = await Promise.race([read, pause(bodyMs).then(() => "stream" as const)]);
  if (typeof bytes === "string") return bytes;
  if (!/form-(data|urlenc)/i.test(type)) return contentOfBody(bytes, asked);
  return contentOfBody(await new Response(bytes, { headers: { "Content-Type": type } }).formData(), asked);
}
