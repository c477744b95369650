import { count } from "./page-counts.js";
import { contentNow } from "./page-content.js";
import { guardedFetch } from "./page-fetch.js";
import { type Asked, type Route, routeOf } from "./page-route.js";
import { guardXhr, type Wrap } from "./page-xhr.js";
import { attempt } from "./storage.js";

// The page guard: the gateway puts this script into the pages of an application that knows nothing of keys. Its requests for protected routes
// get one here, where a wish is known. docs/browser.md defines it.

/** Of two scripts in one page the first one is at work. */
const mark: unique symbol = Symbol.for("semel-page");
const globals = globalThis as { [mark]?: unknown };

const wrap: Wrap = (holder, name, call) => {
  const own = holder[name] as (...args: unknown[]) => unknown;
  // A proxy keeps the function's name, length and text. Additions of a page to Object.prototype must not become its traps.
  const apply = (_: unknown, self: never, args: never): unknown => call((...given) => Reflect.apply(own, self, given), self, args);
  holder[name] = new Proxy(own, { __proto__: null, apply } as ProxyHandler<never>) as never;
};

const text = document.currentScript?.getAttribute("data-semel-routes");
if (text && !globals[mark]) {
  attempt(() => {
    const routes = (globals[mark] = JSON.parse(text) as Route[]);
    wrap(globalThis, "fetch", (_, self, args) => guardedFetch(routes, self, args));
    guardXhr(routes, wrap);
    wrap(Navigator.prototype, "sendBeacon", (native, _, args: [string]) => {
      attempt(() => count(routeOf(routes, "POST", String(args[0]))!.route.name, "beacon"));
      return native(...(args as unknown[]));
    });
    requestIdleCallback(() => contentNow(text.repeat(99), { route: {} } as Asked)); // the first request finds it compiled; WebKit cannot
  });
}
