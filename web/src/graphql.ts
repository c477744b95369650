/** Strings and comments, which can hold anything. */
const opaque = /"""(?:\\"""|[^])*?"""|"(?:\\.|[^"\\\n])*"|#.*/g;

/** Whether a GraphQL document runs nothing but queries and subscriptions: the operation of this name, else each that it has. */
export function onlyReads(document: string, name?: string): boolean {
  /** The tokens of each definition. The first is its kind, the second its name if it has one. */
  const found: string[][] = [];
  let depth = 0;
  let current: string[] | undefined;
  for (const [token] of document.replace(opaque, " ").matchAll(/\w+|[^\s,]/g)) {
    if (!current) {
      if (!/^(query|mutation|subscription|fragment|\{)$/.test(token)) return false;
      found.push((current = []));
    }
    current.push(token);
    if (/[{([]/.test(token)) depth++;
    if (/[})\]]/.test(token) && !--depth && token === "}") current = undefined;
  }
  const operations = found.filter(([kind]) => kind !== "fragment");
  const named = operations.filter(([, called]) => called === name);
  const run = named.length ? named : operations;
  return !current && run.length > 0 && run.every(([kind]) => kind !== "mutation");
}
