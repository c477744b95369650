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
export function matches(pattern: string, path: string): boolean {
  const source = pattern
    .replace(/[^\w{}/]/g, "\\$&")
    .replace(/\/$/, "/.*")
    .replace(/\{\w+\\.*/, ".*")
    .replace("{\\$}", "")
    .replace(/\{\w+\}/g, "[^/]+");
  return new RegExp(`^${source}$`, "s").test(decodeURI(path.replace(/\/+/g, "/")));
}

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
export function note(asked: Asked, headers: Headers): void {
  asked.action = headers.get("Next-Action");
  asked.said = asked.route.headers?.map((name) => headers.get(name));
}

/** How long an answer that says "still at work" is kept from the application, in milliseconds. */
export const patienceMs = 30_000;

/** The first route that a request of this origin meets; the gateway has sorted them. In a sandbox the origin is another than the address says. */
export function routeOf(routes: readonly Route[], method: string, address: string): Asked | undefined {
  const verb = method.toUpperCase();
  const able = routes.filter(({ methods }) => methods.includes(verb));
  if (!able.length) return undefined;
  const url = new URL(address, document.baseURI);
  const route = able.find(({ path }) => matches(path, url.pathname));
  url.hash = "";
  return route && url.origin === origin ? { route, method: verb, url: url.href } : undefined;
}
