/** One field of a form, or one part of a request: its name, and its value or what a file is known by. */
export type Part = readonly [name: string, value: string];

/**
 * Names of fields that change with every rendering and are not content: tokens against forged requests, answers of
 * captchas. The gateway leaves out the same: testdata/vectors/formfields.json.
 */
const changing = new Set(
  (
    "csrfmiddlewaretoken authenticity_token _token _csrf _csrf_header _csrf_token _csrfToken csrf_token " +
    "csrf_test_name csrfToken CSRFToken csrf __RequestVerificationToken gorilla.csrf.Token _wpnonce _ajax_nonce " +
    "wpEditToken wpLoginToken form_build_id form_token sectok sesskey form_key _csrf-frontend _csrf-backend " +
    "YII_CSRF_TOKEN _xsrf SYNCHRONIZER_TOKEN struts.token _authenticator SecurityID __anti-forgery-token " +
    "h-captcha-response cf-turnstile-response frc-captcha-solution frc-captcha-response altcha smart-token " +
    "procaptcha-response mtcaptcha-verifiedtoken fc-token cap-token mcaptcha__token geetest_challenge " +
    "geetest_validate geetest_seccode _wpcf7_recaptcha_response"
  ).split(" "),
);
const changingParts = /\[_(csrf_)?token\]$|^(_Token\[|data\[_Token\]|g-recaptcha-response)/;

/** Whether a field of this name changes with every rendering of its form. */
export function changes(name: string): boolean {
  return changing.has(name) || changingParts.test(name);
}

/** What a file is known by without reading it: its name, size and time of change. */
function fileName(file: Blob): string {
  const { name = "", lastModified = 0 } = file as Partial<File>;
  return `file ${name} ${file.size} ${lastModified} ${file.type}`;
}

/** The content of a form: every field in order, without what changes with every rendering and without the fields named here. */
export function contentOf(data: Iterable<[string, FormDataEntryValue]>, without: ReadonlySet<string> = new Set()): Part[] {
  const parts: Part[] = [];
  for (const [name, value] of data) {
    if (changes(name) || without.has(name)) continue;
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
