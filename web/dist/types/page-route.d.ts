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
}
/** Whether a path is one of a pattern's. */
export declare function matches(pattern: string, path: string): boolean;
/** A request that a route protects. */
export interface Asked {
    route: Route;
    method: string;
    /** The address, without its fragment. */
    url: string;
    /** The id of a React Server Action. */
    action?: string | null;
}
/** How long an answer that says "still at work" is kept from the application, in milliseconds. */
export declare const patienceMs = 30000;
/** The most special route of a request of this origin. */
export declare function routeOf(routes: readonly Route[], method: string, address: string): Asked | undefined;
