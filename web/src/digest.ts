/** One field of a form, or one part of a request: its name, and its value or what a file is known by. */
export type Part = readonly [name: string, value: string];

/** Names of fields that carry a token against forged requests: they change with every rendering and are not content. */
const csrfFields = new Set(
  ("csrfmiddlewaretoken authenticity_token _token _csrf _csrf_token _csrf_header csrf_token csrfToken csrf CSRFToken " +
    "__RequestVerificationToken gorilla.csrf.Token").split(" "),
);

/** What a file is known by without reading it: its name, size and time of change. */
function fileName(file: Blob): string {
  const { name = "", lastModified = 0 } = file as Partial<File>;
  return `file ${name} ${file.size} ${lastModified} ${file.type}`;
}

/** The content of a form: every field in order, without tokens against forgery and without the fields named here. */
export function contentOf(data: FormData, without: ReadonlySet<string> = new Set()): Part[] {
  const parts: Part[] = [];
  for (const [name, value] of data) {
    if (csrfFields.has(name) || without.has(name)) continue;
    parts.push([name, typeof value === "string" ? `text ${value}` : fileName(value)]);
  }
  return parts;
}

/** The digest of a list of parts: 128 bits in hexadecimal. Lengths are part of it, so that no two lists look the same. */
export function digest(parts: readonly Part[]): string {
  return hash(JSON.stringify(parts));
}

/**
 * A hash that is ready at once and small; the browser's own are neither, and missing on plain http. It is not made
 * against people who look for collisions: they would only take their own second submission for their first.
 */
export function hash(text: string): string {
  const lanes = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f].map((prime, lane) => {
    let state = prime ^ text.length;
    for (let i = 0; i < text.length; i++) {
      state = Math.imul(state ^ text.charCodeAt(i), prime);
      state = (state << (13 + lane)) | (state >>> (19 - lane));
    }
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
    state = Math.imul(state ^ (state >>> 12), 0x297a2d39);
    return ((state ^ (state >>> 15)) >>> 0).toString(16).padStart(8, "0");
  });
  return lanes.join("");
}
