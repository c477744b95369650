import { type Progress, type SemelInit } from "./semel.js";
/** An intent by its name, with its progress: what a component needs to send something once. */
export declare function useIntent(intent: string, options?: Omit<SemelInit, "intent">): Progress & {
    send(input: RequestInfo | URL, init?: RequestInit, from?: object): Promise<Response | undefined>;
};
/** The submit handler of a form: sends its fields to its action, once. */
export declare function useSemelSubmit(intent: string, options?: Omit<SemelInit, "intent">): Progress & {
    onSubmit(event: {
        preventDefault(): void;
        currentTarget: HTMLFormElement;
    }): Promise<Response | undefined>;
};
