import { clicks, listen } from "./clicks.js";
import { newKey } from "./key.js";
import { definitivePage, ends, idOf, isToken, type Outcome } from "./outcome.js";
import type { Record, Shelf } from "./storage.js";

// A wish lasts until its content changes or the page says "new". testdata/vectors/wish.json pins what that means for the forms of the
// gateway, those of the library and semelFetch.

/** How the current page came to be. */
export interface Arrival {
  /** PerformanceNavigationTiming.type. */
  type: string;
  /** The history entry of this page. Undefined where the browser does not say. */
  entry?: string | undefined;
  /** The address of this page, without its fragment. */
  page: string;
}

/** What the current page followed. */
export interface Following extends Arrival {
  /** The status of the page, or 0 when the browser does not say. */
  status: number;
  /** The history entry of the page that led here, where the browser says it, and its address. */
  from?: string | undefined;
  referrer: string;
  /** How many redirects of its origin led here. */
  redirects: number;
}

type Timing = (PerformanceNavigationTiming & { responseStatus?: number }) | undefined;
const timing = (): Timing => performance.getEntriesByType("navigation")[0] as Timing;
const globals = globalThis as Partial<typeof globalThis> & { navigation?: { currentEntry?: Entry; activation?: { from?: Entry } } };

/** Reads how the current page came to be; a server has no page. */
export function arrival(): Arrival {
  return {
    type: timing()?.type ?? "navigate",
    entry: globals.navigation?.currentEntry?.key,
    page: (globals.location?.href ?? "").replace(/#.*/, ""),
  };
}

/** Reads what the current page followed. */
export function following(): Following {
  return {
    ...arrival(),
    status: timing()?.responseStatus ?? 0,
    from: globals.navigation?.activation?.from?.key,
    referrer: document.referrer,
    redirects: timing()?.redirectCount ?? 0,
  };
}

interface Entry {
  key: string;
}

/** Whether Back has led to the page that the record is of. */
export function returned(record: Record, here: Arrival): boolean {
  return here.type === "back_forward" && (record.entry && here.entry ? record.entry === here.entry : record.page === here.page);
}

/** Counts edits. */
let edits = 0;
/** The last edit of each root, and of the page (globalThis). */
type Edits = WeakMap<object, number>;
/** What the person typed, since Back if that brought the page out of memory. This ends no wish from before: the page of its answer was left. */
let typed: Edits = new WeakMap();
/** What the page said: reset or new. */
const said: Edits = new WeakMap();

const changed = (where: Edits, { target }: Event): void => void where.set(rootOf(target!), ++edits).set(globalThis, edits);
listen("input", (event) => {
  if (event.isTrusted) changed(typed, event);
});
listen("pageshow", (event) => {
  if ((event as PageTransitionEvent).persisted) typed = new WeakMap();
});
for (const type of ["reset", "semel:new"]) listen(type, (event) => changed(said, event));

/** What a wish belongs to: the form of an element, else itself. */
export function rootOf(from: object): object {
  if (!globalThis.Element || !(from instanceof Element)) return from;
  return Element.prototype.closest.call(from, "form") ?? (from as HTMLInputElement).form ?? from;
}

/** The wish of one rendering: of a form, a control or a component on a page. */
export class Wish {
  private turn_ = -1;
  /** The edits that were made before it was sent, and where those after it are, until Back. */
  edits_ = 0;
  private typed_ = typed;
  private answered_ = false;

  /**
   * @param key_ the rendering's own key, or that of the draft that it goes on with.
   * @param digest_ the content that the key was used for.
   * @param given_ the token that the page gave it.
   */
  constructor(private readonly root_: object, public key_ = newKey(), private digest_?: string, private readonly given_?: string) {}

  /** Whether the person is still at the click sequence that sent it, and changed nothing since: the same wish. */
  get again_(): boolean {
    return clicks.further_ && this.turn_ === clicks.turn_;
  }

  /**
   * The key for this content, which is about to be sent, or may only be read (maybe). record holds the last submission from here: without a
   * definitive answer, or after Back, it lends its key to the same content. A token serves any content, a key of ours one.
   */
  sign_(digest: string, record: Record | undefined, here: Arrival, maybe?: boolean): string {
    const where = "elements" in this.root_ ? this.root_ : globalThis;
    const over = this.answered_ && [this.typed_, said].some((each) => each.get(where)! > this.edits_);
    if (!over && this.digest_ === digest) {
      if (maybe) return this.key_;
    } else {
      const goesOn = !over && record?.digest === digest && (!record.ended || returned(record, here));
      this.key_ = goesOn ? record.key : this.given_ ?? (this.digest_ === undefined ? this.key_ : newKey());
    }
    this.digest_ = digest;
    this.answered_ = false;
    if (!maybe) this.turn_ = clicks.turn_;
    this.edits_ = edits;
    this.typed_ = typed;
    return this.key_;
  }

  /** A definitive answer came. Content that the person has not edited goes on with the key, unless the page says "new". */
  end_(): void {
    this.answered_ = true;
  }
}

/**
 * Ends the drafts that these outcomes speak of, and the one without a token that this page is the answer to: no outcome speaks of it, its form's page went
 * away for this submission's sake, this page followed it directly, at the form's own target or by a redirect, and its status is definitive. An address
 * that the person typed also follows the form's page, but leads to neither. Returns the outcomes that ended drafts, each with its record: the
 * repetitions to tell about are among them.
 */
export function settle(shelf: Shelf, here: Following, outcomes: readonly Outcome[]): { outcome: Outcome; record: Record }[] {
  const settled = [];
  for (const name of shelf.names()) {
    const record = shelf.get(name);
    if (record?.digest === undefined) continue;
    const id = idOf(record.key);
    const outcome = outcomes.findLast((each) => each.id === id);
    const followed = here.from !== undefined ? here.from === record.entry : here.referrer !== "" && here.referrer === record.page;
    const led = here.redirects > 0 || here.page === record.goal;
    const answers = followed && led && definitivePage(here.status) && !isToken(record.key);
    let { left, ended } = record;
    if (left && here.type === "navigate") {
      left = false;
      ended ||= answers && !outcome;
    }
    if (outcome && ends(outcome)) {
      ended = true;
      settled.push({ outcome, record });
    }
    if (left !== record.left || ended !== record.ended) shelf.put(name, { ...record, left, ended });
  }
  return settled;
}
