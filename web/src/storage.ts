/** What is remembered of a draft, from its first rendering until its storage is cleared. */
export interface Record {
  /** The key, or the gateway's token. */
  key: string;
  /** The digest of the content that was sent with it; missing until something was sent. */
  digest?: string | undefined;
  /** A definitive answer came: the next draft gets another key. */
  ended?: boolean | undefined;
  /** The form's token that semelFetch sent with it; empty when none was sent. */
  token?: string | undefined;
  /** The rendering of a form that sent it. */
  sender?: string;
  /** The history entry of the page that holds the form. */
  entry?: string | undefined;
  /** The page's address, for browsers that do not name history entries. */
  page?: string;
  /** The address that it was sent to, without its fragment. */
  goal?: string | undefined;
  /** The page went away while the submission was the last navigation that was asked for. */
  left?: boolean | undefined;
  /** What to say when the answer was a repetition's, and in which language. */
  text?: string;
  language?: string;
  /** When it was written, by this machine's clock. Only used to forget the oldest first. */
  at: number;
}

/** Where records are kept. No method throws: without storage a shelf works in memory, as long as the page lives. */
export interface Shelf {
  get(name: string): Record | undefined;
  put(name: string, record: Omit<Record, "at">): void;
  drop(name: string): void;
  names(): string[];
}

const prefix = "semel:";

/** The most records in one storage; the oldest are forgotten first, those that still wait for an answer last. */
export const maxRecords = 64;

/** A shelf in the storage that open returns. open may throw, and so may all of the storage's methods. */
export function shelf(open: () => Storage): Shelf {
  const memory = new Map<string, Record>();
  const names = (): string[] => {
    const kept = attempt(() => Object.keys(open())) ?? [];
    const ours = kept.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
    return [...new Set([...ours, ...memory.keys()])];
  };
  const get = (name: string): Record | undefined =>
    memory.get(name) ?? parse(attempt(() => open().getItem(prefix + name)));
  const drop = (name: string): void => {
    memory.delete(name);
    attempt(() => open().removeItem(prefix + name));
  };
  const prune = (keep: string): void => {
    const aged = names().filter((name) => name !== keep).map((name) => {
      const { at = 0, digest, ended } = get(name) ?? {};
      return [digest && !ended ? at * 2 : at, name] as const; // what waits for its answer is forgotten last
    });
    for (const [, name] of aged.sort(([a], [b]) => b - a).slice(maxRecords - 1)) drop(name);
  };
  const put = (name: string, record: Omit<Record, "at">): void => {
    const dated = { ...record, at: Date.now() };
    prune(name);
    try {
      open().setItem(prefix + name, JSON.stringify(dated));
      memory.delete(name);
    } catch {
      memory.set(name, dated); // full, switched off, or forbidden: the page remembers
    }
  };
  return { get, put, drop, names };
}

/** What it returns, or undefined when it throws. */
export function attempt<T>(what: () => T): T | undefined {
  try {
    return what();
  } catch {
    return undefined;
  }
}

function parse(text: string | null | undefined): Record | undefined {
  const record = attempt(() => JSON.parse(text!) as Partial<Record> | null);
  return typeof record?.key === "string" ? (record as Record) : undefined;
}
