import { type Route } from "./page-route.js";
/** Lets this method of a prototype do more; the application sees the browser's own. */
export type Wrap = <T extends object>(holder: T, name: keyof T & string, call: (native: (...args: unknown[]) => unknown, self: never, args: never) => unknown) => void;
/** Gives requests of XMLHttpRequest a key, if a route wants one. Everything that the application hears of them stays as it is. */
export declare function guardXhr(routes: readonly Route[], wrap: Wrap): void;
