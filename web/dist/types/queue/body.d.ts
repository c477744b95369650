import { type Answer, type Entry } from "./entry.js";
/** What can be queued as a body. Plain objects and arrays are sent as JSON. */
export type Body = string | FormData | Blob | URLSearchParams | ArrayBuffer | ArrayBufferView<ArrayBuffer> | object | null;
/** The bytes of a body, and the Content-Type they need. Every attempt sends the same bytes, including a form's boundary. */
export declare function bytesOf(body: Body): Promise<{
    bytes: ArrayBuffer | null;
    type: string | null;
}>;
/** Says what is wrong with the pairs of fill, or nothing. */
export declare function checkFill(fill: Readonly<Record<string, string>>, url: string): void;
/**
 * A child with the values of its parent's answer filled in, and no longer
 * waiting for it. Undefined when the answer does not hold them.
 */
export declare function filled<Some extends Omit<Entry, "seq">>(child: Some, body: ArrayBuffer | null, answer: Answer | undefined): {
    entry: Some;
    body: ArrayBuffer | null;
} | undefined;
