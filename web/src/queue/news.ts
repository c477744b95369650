import { attempt } from "../storage.js";

/**
 * News for other tabs that something changed: nothing but a reason to look into
 * the database again. Lost or repeated news do no harm.
 */
export interface News {
  tell(): void;
  close(): void;
}

/** Listens and tells by BroadcastChannel, or by the storage event where there is none. */
export function openNews(name: string, listener: () => void): News {
  const channel = attempt(() => new BroadcastChannel(name)); // missing, or denied like all storage
  if (channel) {
    channel.onmessage = () => listener();
    (channel as { unref?: () => void }).unref?.(); // outside of browsers it would keep the process alive
    return { tell: () => channel.postMessage("changed"), close: () => channel.close() };
  }
  const onStorage = (event: StorageEvent): void => {
    if (event.key === name) listener();
  };
  globalThis.addEventListener?.("storage", onStorage);
  return {
    tell: () => {
      try {
        localStorage.setItem(name, String(Math.random())); // an event comes only when the value changes
      } catch {
        // no storage: the others check on their own now and then
      }
    },
    close: () => globalThis.removeEventListener?.("storage", onStorage),
  };
}
