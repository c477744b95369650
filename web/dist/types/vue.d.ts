import { type Ref } from "vue";
import { type Progress, type SemelInit } from "./semel.js";
/** An intent by its name, with its progress: what a component needs to send something once. */
export declare function useIntent(intent: string, options?: Omit<SemelInit, "intent">): {
    progress: Readonly<Ref<Progress>>;
    send(input: RequestInfo | URL, init?: RequestInit, from?: object): Promise<Response | undefined>;
};
