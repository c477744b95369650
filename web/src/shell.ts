/** How long a file that is kept waits for the network, in milliseconds. */
const patienceMs = 3_000;
/** How long an answer that comes later is waited for, in milliseconds. */
const lateMs = 30_000;

/**
 * The files that load without a network. Each comes from the server as long as that answers within patienceMs. Otherwise the kept
 * one is used, and an answer that comes later is kept for the next time.
 */
export class Shell {
  /**
   * The network was silent for patienceMs, and has not answered since. What is kept does not wait for it again. Only pages ask it,
   * because a browser has few connections to a server, and the queue needs one.
   */
  #silent = false;
  /** What was not asked for while the network was silent, by address. */
  readonly #missed = new Map<string, Request>();

  constructor(private readonly name: string, private readonly signedOut: (response: Response, sentTo: string) => boolean) {}

  /** Keeps these files, all or none. @throws TypeError when an answer is not the file. */
  async install(addresses: readonly string[]): Promise<void> {
    if (addresses.length === 0) return;
    const files = await Promise.all(addresses.map(async (address) => {
      const request = new Request(address, { cache: "reload" });
      const response = await fetch(request);
      if (!this.#isFile(request, response)) throw new TypeError(refusal(address, response));
      await response.clone().arrayBuffer(); // rejects when it breaks off
      return [request, response] as const;
    }));
    const cache = await caches.open(this.name);
    await Promise.all(files.map(([request, response]) => cache.put(request, response)));
  }

  /** Answers a request for a file. end is when the worker may sleep. */
  load(request: Request): { answer: Promise<Response>; end: Promise<unknown> } {
    const opening = caches.open(this.name).catch(() => undefined); // a browser that keeps nothing
    const keeping = opening.then((cache) => cache?.match(request, { ignoreVary: true }));
    if (this.#silent && request.mode !== "navigate") {
      this.#missed.set(request.url, request);
      return { answer: keeping.then((kept) => kept ?? fetch(request)), end: keeping };
    }
    const fresh = this.#fetch(request, opening);
    const settled = fresh.catch(() => undefined);
    return {
      answer: this.#choose(request, keeping, fresh, settled),
      end: Promise.race([settled.then(() => this.#catchUp(opening)), after(lateMs)]),
    };
  }

  async #choose(
    request: Request, keeping: Promise<Response | undefined>, fresh: Promise<Response>, settled: Promise<Response | undefined>,
  ): Promise<Response> {
    const kept = await keeping;
    if (!kept) return fresh;
    const late = Symbol();
    const first = await Promise.race([settled, after(this.#silent ? 0 : patienceMs).then((): typeof late => late)]);
    if (first === late) this.#silent = true;
    return first && first !== late && (this.#isFile(request, first) || refuses(first)) ? first : kept;
  }

  /** The server's answer, which is kept if it is the file. Rejects when that breaks off. */
  async #fetch(request: Request, opening: Promise<Cache | undefined>): Promise<Response> {
    const patience = request.mode === "navigate" ? undefined : { signal: AbortSignal.timeout(lateMs) }; // a page's request takes none
    const response = await fetch(request, patience);
    const isFile = this.#isFile(request, response);
    if (isFile) await response.clone().arrayBuffer();
    this.#silent = false; // not before: its header may have come long ago
    if (isFile) {
      await (await opening)?.put(request, response.clone()).catch(() => undefined); // no room: the older one stays
    }
    return response;
  }

  /** Asks for what was missed, once the network has answered: the files of one version belong together. */
  async #catchUp(opening: Promise<Cache | undefined>): Promise<void> {
    if (this.#silent) return;
    const missed = [...this.#missed.values()];
    this.#missed.clear();
    await Promise.allSettled(missed.map((request) => this.#fetch(request, opening)));
  }

  /** Whether an answer is the file, and not a page that asks to sign in or a redirect to one. */
  #isFile({ url }: Request, response: Response): boolean {
    if (!response.ok || response.redirected || this.signedOut(response, url)) return false;
    return !noPage.test(new URL(url).pathname) || !/^text\/html\b/i.test(response.headers.get("Content-Type") ?? "");
  }
}

/** Addresses at which a page is a stranger's: that of a captive portal, or one to sign in. */
const noPage = /\.(m?js|css|json|webmanifest|wasm|svg|png|jpe?g|gif|webp|avif|ico|woff2?)$/i;

/** Whether the server refuses the file for good, and not for lack of a session. Another origin's answer cannot be read. */
function refuses({ status, type }: Response): boolean {
  return type === "opaque" || (status >= 400 && status < 500 && ![401, 403, 407, 408, 419, 421, 425, 429, 440].includes(status));
}

function refusal(address: string, { ok, redirected, status, url }: Response): string {
  if (ok && redirected) return `shell: ${address} leads to ${url} (name the address itself, and let it load without signing in)`;
  return `shell: ${address} is answered with ${ok ? "a page that asks to sign in" : status}, so nothing is kept`;
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}
