/** An empty storage, as a browser has one for each tab or origin. */
export function storage(): Storage {
  const items = new Map<string, string>();
  const box = {
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, value: string) => void ((items.set(name, value)), ((box as Record<string, unknown>)[name] = value)),
    removeItem: (name: string) => void (items.delete(name), delete (box as Record<string, unknown>)[name]),
  };
  for (const name of Object.keys(box)) Object.defineProperty(box, name, { enumerable: false });
  return box as unknown as Storage;
}
