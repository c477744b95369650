import type { GuardOptions } from "./guard-form.js";
import { type Guarded } from "./watch.js";
/** What the classic script offers to other scripts, as the global semel. */
export interface Api {
    guardForm(form: HTMLFormElement, options?: GuardOptions): Guarded;
}
