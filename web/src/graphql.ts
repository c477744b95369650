/** An operation of a GraphQL document. */
interface Operation {
  type: string;
  name: string;
}

const token = /"""(?:\\"""|[^])*?"""|"(?:\\.|[^"\\\n])*"|#[^\n\r]*|[_a-zA-Z]\w*|[^]/g;

/** The operations of a document; none when it cannot be read as one. */
function operationsIn(document: string): Operation[] {
  const found: Operation[] = [];
  let depth = 0;
  let current: Operation | undefined;
  let begun = false; // the last token was the keyword
  for (const [each] of document.matchAll(token)) {
    if (/^[#\s,\ufeff]/.test(each)) continue;
    if (depth === 0 && !current) {
      if (!/^(query|mutation|subscription|fragment|\{)$/.test(each)) return [];
      found.push((current = { type: each, name: "" }));
      begun = each !== "{";
      if (begun) continue;
    }
    if (begun && /^\w/.test(each)) current!.name = each;
    begun = false;
    if (/^[{([]$/.test(each)) depth++;
    else if (/^[})\]]$/.test(each) && --depth === 0 && each === "}") current = undefined;
  }
  return current ? [] : found.filter(({ type }) => type !== "fragment");
}

/** Whether a document runs nothing but queries and subscriptions: the operation of this name, else each that it has. */
export function onlyReads(document: string, name?: string): boolean {
  const all = operationsIn(document);
  const named = all.filter((each) => each.name === name);
  const run = named.length ? named : all;
  return run.length > 0 && run.every(({ type }) => type !== "mutation");
}
