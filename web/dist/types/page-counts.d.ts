/** Why a request of a protected route went out without a key: a body that can be read once, sendBeacon, a synchronous request, a long body. */
export type Kind = "stream" | "beacon" | "sync" | "large";
/** Counts a request that could not be protected. */
export declare function count(route: string, kind: Kind): void;
