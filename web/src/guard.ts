import type { GuardOptions } from "./guard-form.js";
import { type Guarded, Watch } from "./watch.js";

/** What the classic script offers to other scripts, as the global semel. */
export interface Api {
  guardForm(form: HTMLFormElement, options?: GuardOptions): Guarded;
}

// A page may get this script twice, from the gateway and from its own author: the first one is at work. A server
// has no page.
const api = ((globalThis as { semel?: Partial<Api> }).semel ??= {});
if (typeof document === "object" && !api.guardForm) {
  const watch = new Watch();
  watch.start();
  api.guardForm = (form, options) => watch.guard(form, options);
}
