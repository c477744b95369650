import { newKey } from "./key.js";
import { type Shelf, shelf } from "./storage.js";

const tab = shelf(() => sessionStorage);
const origin = shelf(() => localStorage);

/** One wish of one person, by the name the developer gave it. It has one key until it is dealt with. */
export interface Intent {
  name: string;
  /** One intent in every tab of the origin (the default), or one in each tab. */
  shared: boolean;
}

function place({ name, shared }: Intent): [Shelf, string] {
  return [shared ? origin : tab, `intent:${name}`];
}

/** The key for an intent with this content: other content is another wish. It is stored before it is returned. */
export function keyFor(intent: Intent, digest: string): string {
  const [shelf, name] = place(intent);
  const record = shelf.get(name);
  if (record?.digest === digest) return record.key;
  const key = newKey();
  shelf.put(name, { key, digest });
  return key;
}

/** Ends an intent, if this is still its key: the next wish of this name gets another one. */
export function endIntent(intent: Intent, key: string): void {
  const [shelf, name] = place(intent);
  if (shelf.get(name)?.key === key) shelf.drop(name);
}
