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

const rest = /^\{.*\.\.\.\}$/;

/** Whether a path is one of a pattern's. */
export function matches(pattern: string, path: string): boolean {
  const want = pattern.split("/");
  const got = path.split("/").map(decodeURIComponent);
  for (const [n, segment] of want.entries()) {
    if (segment === "{$}") return got.length === want.length && !got[n];
    if (rest.test(segment) || (n > 0 && !segment && n === want.length - 1)) return got.length > n;
    if (segment[0] === "{" ? !got[n] : segment !== got[n]) return false;
  }
  return got.length === want.length;
}

/** How special a pattern is: of two that match, the server takes the one with more of it said. */
function weight(path: string): number {
  return path.split("/").reduce((sum, each) => sum + (each[0] === "{" ? (rest.test(each) ? 0 : 10) : each ? 100 : 0), 0);
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

const { URL } = globalThis;

/** The most special route of a request of this origin. */
export function routeOf(routes: readonly Route[], method: string, address: string): Asked | undefined {
  const verb = method.toUpperCase();
  const able = routes.filter(({ methods }) => methods.includes(verb));
  if (!able.length) return undefined;
  const url = new URL(address, document.baseURI);
  const [route] = able.filter(({ path }) => matches(path, url.pathname)).sort((a, b) => weight(b.path) - weight(a.path));
  url.hash = "";
  return route && url.origin === location.origin ? { route, method: verb, url: url.href } : undefined;
}
