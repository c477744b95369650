/** One field of a form, or one part of a request: its name, and its value or what a file is known by. */
export type Part = readonly [name: string, value: string];
/** Whether a field of this name changes with every rendering of its form. */
export declare function changes(name: string): boolean;
/** The content of a form: every field in order, without what changes with every rendering and without the fields named here. */
export declare function contentOf(data: Iterable<[string, FormDataEntryValue]>, without?: ReadonlySet<string>): Part[];
/** The digest of a list of parts: 128 bits in hexadecimal. Lengths are part of it, so that no two lists look the same. */
export declare function digest(parts: readonly Part[]): string;
/**
 * A hash that is ready at once and small; the browser's own are neither, and missing on plain http. It is not made
 * against people who look for collisions: they would only take their own second submission for their first.
 */
export declare function hash(text: string): string;
