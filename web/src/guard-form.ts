import { contentOf, digest } from "./digest.js";
import { newKey } from "./key.js";
import { Notice } from "./lock.js";
import { definitivePage, isToken } from "./outcome.js";
import { attempt, type Record, type Shelf } from "./storage.js";
import { attribute, behind, elements, missing, type Target, targetOf, tokens } from "./target.js";
import { languageOf, type Texts, textsFor } from "./texts.js";
import { type Arrival, arrival, returned, Wish } from "./wish.js";

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

/** One submission of one form. */
export interface Submission {
  guard: FormGuard;
  target: Target;
  submitter: HTMLElement | null;
  /** Missing when the fields are only read, maybe by form.submit(). */
  event?: SubmitEvent | undefined;
  /** How often the page was about to be left since: the first time for its sake, then for another navigation's. */
  departures_: number;
}

/** The guards of this page. */
export const guards = new WeakMap<HTMLFormElement, FormGuard>();

/** What the guard of one form knows. */
export class FormGuard {
  options: GuardOptions = {};
  /** The submission whose answer is out: the form is locked. */
  underWay_: Submission | undefined;
  notice_: Notice | undefined;
  /** Something was sent from here. */
  sent_ = false;
  readonly id_ = newKey();
  readonly wishes_ = new WeakMap<HTMLInputElement, Wish>();

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

  text(name: "saving" | "duplicate", otherwise: keyof Texts = name): string {
    const at = "data-semel-" + name; // the gateway writes it to its own field
    const given = tokens(this.form)[0];
    return this.options.texts?.[name] ?? attribute(this.form, at) ?? (given && attribute(given, at)) ?? textsFor(languageOf(this.form))[otherwise];
  }

  /** The name of an input's record, which holds keys of one kind: a form may hold a token for each button that leads elsewhere. */
  recordName_(input: HTMLInputElement): string {
    const index = tokens(this.form).indexOf(input);
    return (this.draft ? `draft:${this.draft}` : `form:${this.name}`) + (index < 0 ? "" : `#${index}`);
  }

  /**
   * The record of this content: the input's own, or that of a form like it in an earlier page, where rows of a list may have been in other places.
   */
  recordOf_(name: string, content: string): Record | undefined {
    const kind = (each: string): string => each.replace(this.draft ? /\?$/ : /\|-?\d+(#?)\d*\??$/, "$1");
    const alike = this.shelf.names().filter((each) => kind(each) === kind(name)).map((each) => this.shelf.get(each)!);
    const others = [...document.forms].map((form) => form !== this.form && (guards.get(form)?.id_ ?? ""));
    const all = [this.shelf.get(name), ...alike].filter((each) => each?.digest === content && !others.includes(each.sender!));
    return all.find((each) => !each!.ended) ?? all[0];
  }

  /** What was read has been sent. */
  went_(): void {
    const name = this.recordName_(this.keyInput_(null));
    this.shelf.put(name, this.shelf.get(name + "?")!);
  }

  /** Changes the records of an input's key. */
  change_(input: HTMLInputElement, change: Partial<Record>): void {
    for (const name of ["", "?"].map((end) => this.recordName_(input) + end)) {
      const record = this.shelf.get(name);
      if (record?.key === input.value) this.shelf.put(name, { ...record, ...change });
    }
  }

  /**
   * Gives each rendering its key, once: that of the draft which is still open, or has come back by Back, or a new one. A token stays: only
   * the content can tell, when it is sent, whether an earlier one has to go on.
   */
  prepare_(here: Arrival = arrival()): void {
    const given = tokens(this.form);
    for (const input of given.length ? given : [this.ownField_()]) {
      if (this.wishes_.has(input)) continue;
      const token = isToken(input.value) ? input.value : undefined;
      const record = this.shelf.get(this.recordName_(input));
      const open = record && (record.ended ? returned(record, here) : record.digest ?? this.draft);
      const goesOn = open && !(token && record.digest) ? record : undefined;
      const key = goesOn?.key ?? token;
      const wish = new Wish(this.form, key, goesOn?.digest, token && key);
      this.wishes_.set(input, wish);
      input.value = wish.key_;
      if (!token || this.draft) this.remember_(input, here);
    }
    if (!missing(this.form).length) this.notice_ ??= new Notice(this.form); // else a framework may be about to compare what is in the form
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
    const input = document.createElement("input");
    input.type = "hidden";
    input.name = name;
    input.autocomplete = "off";
    this.form.prepend(input);
    return input;
  }

  /** The input whose key this submission uses: the token right before the button, else the form's first. */
  keyInput_(submitter: HTMLElement | null): HTMLInputElement {
    const given = tokens(this.form);
    return given.find((input) => submitter && behind(this.form, input) === submitter) ?? given[0] ?? this.ownField_();
  }

  /**
   * Writes down that this content is about to be sent, and puts its key into what is sent. Outside of a submit event the page may only read its
   * form, as to save a copy of it (maybe): that replaces no record of what was sent, and nothing at all while that is under way (aside).
   */
  sign_(data: FormData, submitter: HTMLElement | null, maybe: boolean, aside?: boolean): void {
    const here = arrival();
    this.prepare_(here);
    const input = this.keyInput_(submitter);
    const given = tokens(this.form);
    const names = new Set([this.field, ...given.map((each) => each.name)]);
    const goal = targetOf(this.form, submitter).url;
    const content = digest([["", goal ?? ""], ...contentOf(unpressed(data), names)]);
    const before = input.value;
    for (const [{ name, value }] of missing(this.form)) if (isToken(value)) data.append(name, value);
    const name = this.recordName_(input);
    const wish = this.wishes_.get(input)!;
    // While a form is locked, only a handler that sends it reads it, unless aside.
    const key = (aside ? (Object.create(wish) as Wish) : wish).sign_(content, this.recordOf_(name, content), here, maybe && !this.underWay_);
    if (!isToken(key)) data.set(input.name, key);
    else if (key !== before || given.length > 1) lead(data, input.name, key, before);
    if (aside) return;
    this.sent_ = true;
    input.value = key;
    this.shelf.put(name + (maybe ? "?" : ""), {
      key, digest: content, sender: this.id_, page: here.page, text: this.text("duplicate"), language: languageOf(this.form), entry: here.entry, goal,
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
    this.notice_?.show(this.text("saving"), languageOf(this.form), this.underWay_?.submitter ?? null);
    this.form.dispatchEvent(new CustomEvent("semel:lock", { bubbles: true }));
  }

  unlock(): void {
    this.underWay_ = undefined;
    this.notice_?.hide();
    this.form.dispatchEvent(new CustomEvent("semel:unlock", { bubbles: true }));
  }

  /** A definitive answer came while the page stayed. */
  end(): void {
    const input = this.keyInput_(this.underWay_?.submitter ?? null);
    this.change_(input, { ended: true });
    this.wishes_.get(input)?.end_();
  }

  /** Says when the frame that gets the answer has it, and whether it is a definitive one. */
  watchFrame_(name: string, settle: (answer: { definitive: boolean }) => void): void {
    const frame = [...document.querySelectorAll("iframe")].find((each) => each.name === name);
    frame?.addEventListener("load", () => {
      const timing = attempt(() => frame.contentWindow!.performance.getEntriesByType("navigation")[0]); // none of another origin's
      settle({ definitive: definitivePage((timing as { responseStatus?: number } | undefined)?.responseStatus ?? 0) });
    }, { once: true });
  }
}

/** The fields without where the image button was pressed that the note before it names: the server leaves out the same. */
function unpressed(data: FormData): [string, FormDataEntryValue][] {
  let pressed: string[] = [];
  return [...data].map(([name, value]) => {
    const [, image] = /^sm1\.image\.(.*)/s.exec(String(value)) ?? [];
    if (image !== undefined) pressed = ["x", "y"].map((axis) => (image && image + ".") + axis);
    else if (name === pressed.shift() && /^\d+$/.test(String(value))) value = "";
    else pressed = [];
    return [name, value];
  });
}

/**
 * Puts a token first: of several that are good for one address the server takes the first, and another one would name the wish. An earlier page's
 * token goes alone, so that nothing is done under another one when it is too old. Notes on image buttons stay before their buttons.
 */
function lead(data: FormData, name: string, key: string, before: string): void {
  const all = [...data];
  for (const [each] of all) data.delete(each);
  data.append(name, key);
  for (const [each, value] of all) {
    if (each !== name || (value !== before && (key === before || !isToken(String(value))))) data.append(each, value);
  }
}
