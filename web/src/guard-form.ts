import { arrival, keyOfRendering, keyOfSubmission, type Arrival } from "./draft.js";
import { contentOf, digest, type Part } from "./digest.js";
import { newKey } from "./key.js";
import { Notice } from "./lock.js";
import { definitivePage, isToken } from "./outcome.js";
import { attempt, type Shelf } from "./storage.js";
import { attribute, elements, type Target, tokens } from "./target.js";
import { languageOf, type Texts, textsFor } from "./texts.js";

/** What can be said of one form. Every member has an attribute of the same meaning, which is used when it is missing. */
export interface GuardOptions {
  /** The name of the hidden field that carries the key. Default: data-semel-field, else semel_key. */
  field?: string;
  /** Names the draft: it is one intent in every tab of the origin. Default: data-semel-draft, else one draft per tab. */
  draft?: string;
  /** Texts in place of those in the form's language. Defaults: data-semel-saving, data-semel-duplicate. */
  texts?: Partial<Pick<Texts, "saving" | "duplicate">>;
  /**
   * The answer leaves the page where it is (204, a download): the lock ends with the person's next press or key, other
   * than the rest of a double click. Default: data-semel-stays.
   */
  stays?: boolean;
  /**
   * A handler that cancels the submit event sends the form itself: the form stays locked until settle is called, or the
   * event semel:settle comes. Default: data-semel-hold. Without it a cancelled submit event unlocks at once.
   */
  hold?: boolean;
}

/** One submission of one form, from its submit event on. */
export interface Submission {
  target: Target;
  submitter: HTMLElement | null;
  /** Another navigation was asked for after this one. */
  superseded_: boolean;
  /** How often a page was about to be left since. */
  departures_: number;
}

/** What the guard of one form knows. */
export class FormGuard {
  options: GuardOptions = {};
  locked: Submission | undefined;
  notice_: Notice | undefined;
  prepared_ = new WeakSet<HTMLInputElement>();

  constructor(
    readonly form: HTMLFormElement,
    readonly shelves_: { tab: Shelf; origin: Shelf },
    readonly name: string,
  ) {}

  get draft(): string | null {
    return this.options.draft ?? attribute(this.form, "data-semel-draft");
  }

  get field(): string {
    return this.options.field ?? (attribute(this.form, "data-semel-field") || "semel_key");
  }

  get shelf(): Shelf {
    return this.draft ? this.shelves_.origin : this.shelves_.tab;
  }

  get stays(): boolean {
    return this.options.stays ?? this.form.hasAttribute("data-semel-stays");
  }

  get holds(): boolean {
    return this.options.hold ?? this.form.hasAttribute("data-semel-hold");
  }

  text(name: "saving" | "duplicate"): string {
    return this.options.texts?.[name] ?? attribute(this.form, "data-semel-" + name) ?? textsFor(languageOf(this.form))[name];
  }

  /** The name of an input's record: a form may hold a token for each button that leads elsewhere. */
  recordName_(input: HTMLInputElement): string {
    const index = tokens(this.form).indexOf(input);
    return (this.draft ? `draft:${this.draft}` : `form:${this.name}`) + (index > 0 ? `#${index}` : "");
  }

  /** Gives each rendering its key, once: that of the draft which is still open, or a new one. */
  prepare_(here: Arrival = arrival(window)): void {
    const given = tokens(this.form);
    for (const input of given.length ? given : [this.ownField_()]) {
      if (this.prepared_.has(input)) continue;
      this.prepared_.add(input);
      const record = this.shelf.get(this.recordName_(input));
      const token = isToken(input.value) ? input.value : undefined;
      const suits = record && isToken(record.key) === (token !== undefined) ? record : undefined;
      input.value = keyOfRendering(suits, here, token, Boolean(this.draft));
      if (!token || this.draft) this.remember_(input, here);
    }
    this.notice_ ??= new Notice(this.form);
  }

  /** Also remembers a rendering that has not been sent: a copy of this tab, and of a named draft any tab, has its key. */
  remember_(input: HTMLInputElement, here: Arrival): void {
    const name = this.recordName_(input);
    if (this.shelf.get(name)?.key === input.value) return;
    this.shelf.put(name, { key: input.value, page: here.page, entry: here.entry });
  }

  ownField_(): HTMLInputElement {
    const name = this.field;
    const found = elements(this.form).find((element) => element instanceof HTMLInputElement && element.name === name);
    if (found) return found as HTMLInputElement;
    const input = this.form.ownerDocument.createElement("input");
    input.type = "hidden";
    input.name = name;
    input.autocomplete = "off";
    this.form.prepend(input);
    return input;
  }

  /** The input whose key this submission uses: the token right before the button, else the form's first. */
  keyInput_(submitter: HTMLElement | null): HTMLInputElement {
    const given = tokens(this.form);
    return given.find((input) => input === submitter?.previousElementSibling) ?? given[0] ?? this.ownField_();
  }

  /** Writes down that this content is about to be sent, and puts its key into what is sent. */
  sign_(data: FormData, submitter: HTMLElement | null): void {
    const here = arrival(window);
    this.prepare_(here);
    const input = this.keyInput_(submitter);
    const token = isToken(input.value);
    const name = this.recordName_(input);
    const names = new Set([this.field, ...tokens(this.form).map((each) => each.name)]);
    const goal: Part = ["", (submitter && attribute(submitter, "formaction")) ?? attribute(this.form, "action") ?? ""];
    const content = digest([goal, ...contentOf(data, names)]);
    input.value = keyOfSubmission(input.value, this.shelf.get(name), content, token);
    if (!token) data.set(this.field, input.value);
    this.shelf.put(name, {
      key: input.value, digest: content, page: here.page, text: this.text("duplicate"), language: languageOf(this.form),
      entry: here.entry,
    });
  }

  /** Takes keys and tokens out of what is sent to a place that must not see them. */
  strip_(data: FormData): void {
    for (const name of new Set([this.field, ...tokens(this.form).map((input) => input.name)])) {
      const others = data.getAll(name).filter((value) => typeof value !== "string" || !(isToken(value) || name === this.field));
      data.delete(name);
      for (const value of others) data.append(name, value);
    }
  }

  show(): void {
    this.notice_?.show(this.text("saving"), languageOf(this.form), this.locked?.submitter ?? null);
    this.form.dispatchEvent(new CustomEvent("semel:lock", { bubbles: true }));
  }

  unlock(): void {
    if (!this.locked) return;
    this.locked = undefined;
    this.notice_?.hide();
    this.form.dispatchEvent(new CustomEvent("semel:unlock", { bubbles: true }));
  }

  /** A definitive answer came while the page stayed: the next submission is another draft. A token stays what it is. */
  end(): void {
    const input = this.keyInput_(this.locked?.submitter ?? null);
    const name = this.recordName_(input);
    const record = this.shelf.get(name);
    if (record?.key === input.value) this.shelf.put(name, { ...record, ended: true });
    if (!isToken(input.value)) input.value = newKey();
    this.unlock();
  }

  /** Says when the frame that gets the answer has it, and whether it is a definitive one. */
  watchFrame_(name: string, settle: (answer: { definitive: boolean }) => void): void {
    const frame = Array.from(document.querySelectorAll("iframe")).find((each) => each.name === name);
    frame?.addEventListener("load", () => {
      const timing = attempt(() => frame.contentWindow!.performance.getEntriesByType("navigation")[0]); // none of another origin's
      settle({ definitive: definitivePage((timing as { responseStatus?: number } | undefined)?.responseStatus ?? 0) });
    }, { once: true });
  }
}
