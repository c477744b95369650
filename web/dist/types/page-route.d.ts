/** A protected route, as the gateway writes it into the page. */
export interface Route {
    name: string;
    methods: string[];
    /** A pattern of net/http.ServeMux without method and host. */
    path: string;
    /** The name of the header for the key. */
    header: string;
    /** Members of a JSON object and fields of a form that are not content. */
    ignore?: string[];
    /** Whether bodies are GraphQL; recognised when it is missing. */
    graphql?: boolean;
    /** The names of headers that are content. */
    headers?: string[];
}
/** Whether a path is one of a pattern's, as for the gateway: without empty segments, and %2F separates none. */
export declare function matches(pattern: string, path: string): boolean;
/** A request that a route protects. */
export interface Asked {
    route: Route;
    method: string;
    /** The address, without its fragment. */
    url: string;
    /** The id of a React Server Action. */
    action?: string | null;
    /** The values of the route's headers. */
    said?: unknown;
}
/** Notes the headers of a request that are content. */
export declare function note(asked: Asked, headers: Headers): void;
/** How long an answer that says "still at work" is kept from the application, in milliseconds. */
export declare const patienceMs = 30000;
/** The first route that a request of this origin meets; the gateway has sorted them. In a sandbox the origin is another than the address says. */
export declare function routeOf(routes: readonly Route[], method: string, address: string): Asked | undefined;
