import type { Asked } from "./page-route.js";
/** The digest of a request, and one without an argument that may be the state of the page. Else why it gets no key; "" for one that changes nothing. */
export type Content = readonly [digest: string, rough?: string] | "large" | "stream" | "sync" | "";
/** A copy, which stays the same when the application goes on with its own. */
export declare function copyOf(body: unknown): unknown;
/** The content of a body, at once: files are known by their names, sizes and times. */
export declare function contentNow(body: unknown, asked: Asked): Content;
/** The same, with what short files hold. */
export declare function contentOfBody(body: unknown, asked: Asked): Content | Promise<Content>;
/** The content of the body of a Request. */
export declare function contentOfRequest(request: Request, asked: Asked): Promise<Content>;
