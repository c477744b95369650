import { Queue, syncTag, type QueueOptions } from "./queue/queue.js";
import { Shell } from "./shell.js";
import { wasSentToSignIn } from "./sign-in.js";

/** The settings of the service worker. All have defaults. */
export interface WorkerOptions extends Omit<QueueOptions, "owner"> {
  /** Addresses that load without a network: the page and all it needs. They must not redirect. Default none. */
  shell?: readonly string[];
  /** Names this version of the shell; this worker's caches of other versions are removed. Default "1". */
  shellVersion?: string;
}

const cachePrefix = "semel-shell-";

/** What a service worker has that a page has not, as far as it is used here. */
interface WorkerScope {
  addEventListener(type: string, listener: (event: WorkerEvent) => void): void;
  skipWaiting(): Promise<void>;
  clients: { claim(): Promise<void> };
  location: Location;
  registration: { scope: string };
}

interface WorkerEvent {
  waitUntil(work: Promise<unknown>): void;
  respondWith(answer: Promise<Response>): void;
  request: Request;
  tag?: string;
  data?: unknown;
}

declare global {
  /** What the script semel/sw defines; it is not a module, so that importScripts can load it everywhere. */
  var semelWorker: { serveQueue: typeof serveQueue };
}

/**
 * Makes this service worker send what waits: when the browser wakes it because
 * there is a network (Background Sync), and when a page asks. Call it once, at
 * the top of the worker's file. Pages and worker exclude each other, and it
 * sends for the current owner only.
 */
export function serveQueue(options: WorkerOptions = {}): void {
  const { shell = [], shellVersion = "1", ...rest } = options;
  if (!Array.isArray(shell)) throw new TypeError('shell takes an array of addresses, such as ["/offline.html"]');
  const scope = globalThis as unknown as WorkerScope;
  // No address has a space in it: what begins like this is of this worker and of no other one of the origin.
  const own = `${cachePrefix}${scope.registration.scope} `;
  const cacheName = own + shellVersion;
  const files = new Shell(cacheName, options.signedOut ?? wasSentToSignIn);
  scope.addEventListener("install", (event) => event.waitUntil(files.install(shell).then(() => scope.skipWaiting())));
  scope.addEventListener("activate", (event) => event.waitUntil(activate(scope, own, cacheName)));
  scope.addEventListener("sync", (event) => {
    if (event.tag === syncTag) event.waitUntil(drain(rest, true));
  });
  scope.addEventListener("message", (event) => {
    if (event.data === syncTag) event.waitUntil(drain(rest, false));
  });
  if (shell.length === 0) return;
  const paths = new Set(shell.map((address) => new URL(address, scope.location.href).href));
  scope.addEventListener("fetch", (event) => {
    const { method, url } = event.request;
    if (method !== "GET" || !paths.has(url.replace(/#.*/, ""))) return;
    const { answer, end } = files.load(event.request);
    event.respondWith(answer);
    event.waitUntil(end);
  });
}

async function activate(scope: WorkerScope, own: string, cacheName: string): Promise<void> {
  for (const name of await caches.keys()) {
    if (name.startsWith(own) && name !== cacheName) await caches.delete(name);
  }
  await scope.clients.claim();
}

/** Sends what can be sent. With fail it rejects when something is left for later, so that the browser calls again. */
async function drain(options: QueueOptions, fail: boolean): Promise<void> {
  const queue = new Queue({ ...options, owner: undefined });
  try {
    await queue.hurry();
    const left = (await queue.list()).filter(({ state, reason }) =>
      state === "sending" || (state === "waiting" && reason?.word !== "parent-set-aside" && reason?.word !== "sign-in"));
    if (fail && left.length > 0) throw new Error(`${left.length} entries still wait`);
  } finally {
    await queue.close();
  }
}

globalThis.semelWorker = { serveQueue };
