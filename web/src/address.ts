/** A page's address for a request. @throws TypeError for anything else, such as an object: a browser would send to /[object%20Object]. */
export function addressOf(input: unknown): string {
  const text = String(input);
  if (input == null || text.startsWith("[object ")) throw new TypeError(`no address: ${text}`);
  return new URL(text, globalThis.document?.baseURI ?? globalThis.location?.href).href;
}
