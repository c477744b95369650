import { type Route } from "./page-route.js";
/** Calls fetch with a key, if a route wants one; otherwise, and after an error in here, as the application did. */
export declare function guardedFetch(routes: readonly Route[], self: unknown, args: [RequestInfo | URL, RequestInit?]): Promise<Response>;
