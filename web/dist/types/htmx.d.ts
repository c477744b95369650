interface Context {
    sourceElement: Element;
    request: RequestInit & {
        action: string;
        method: string;
        form?: HTMLFormElement | null;
    };
    fetch?: (action: string, request: RequestInit) => Promise<Response>;
    response?: {
        raw: Response;
    };
    /** The answer's body, once it has come whole. */
    text?: string;
    status?: string;
}
interface Detail {
    ctx: Context;
}
interface Htmx {
    registerExtension(name: string, extension: {
        [hook: string]: (element: Element, detail: Detail) => boolean | void;
    }): void;
}
/** Adds the extension to an htmx. A page whose htmx is global needs no call. */
export declare function register(htmx: Htmx): void;
export {};
