import type { Asked } from "./page-route.js";
/** What is known of a request: its digest, and that without what may be the state of the page. Else why it gets no key; "" for one that changes nothing. */
export type Content = readonly [digest: string, rough?: string] | "large" | "stream" | "sync" | "";
/** A body that stays as it is, whatever the application does with its own. */
export declare function copyOf(body: unknown): unknown;
/** What a request's body says; at once, if it must be. Then files are known by their names, sizes and times. */
export declare function contentNow(body: unknown, asked: Asked): Content;
/** The same, with what short files hold. */
export declare function contentOfBody(body: unknown, asked: Asked): Content | Promise<Content>;
/** What the body of a Request says. */
export declare function contentOfRequest(request: Request, asked: Asked): Promise<Content>;
