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
export function matches(pattern: string, path: string): boolean {
  const source = pattern
    .replace(/[^\w{}/]/g, "\\$&")
    .replace(/\/$|\{\w+(\\\.){3}\}$/, (last) => (last === "/" ? "/.*" : ".*"))
    .replace("{\\$}", "")
    .replace(/\{\w+\}/g, "[^/]+");
  return new RegExp(`^${source}$`, "s").test(decodeURIComponent(path));
}

/** How much a pattern says: of two that match, the server takes the one that says more. */
function weight({ path }: Route): number {
  return path.replace(/\{.*?\}/g, "").length;
}

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
export const patienceMs = 30_000;

/** The most special route of a request of this origin. */
export function routeOf(routes: readonly Route[], method: string, address: string): Asked | undefined {
  const verb = method.toUpperCase();
  const able = routes.filter(({ methods }) => methods.includes(verb));
  if (!able.length) return undefined;
  const url = new URL(address, document.baseURI);
  const [route] = able.filter(({ path }) => matches(path, url.pathname)).sort((a, b) => weight(b) - weight(a));
  url.hash = "";
  return route && url.origin === location.origin ? { route, method: verb, url: url.href } : undefined;
}
