import { arrival, settle, settleByPage } from "./draft.js";
import { FormGuard, type GuardOptions, type Submission } from "./guard-form.js";
import { announce } from "./lock.js";
import { cookieName, ends, formatOutcomes, idOf, type Outcome, outcomesIn, outcomesOfMeta } from "./outcome.js";
import { attempt, shelf } from "./storage.js";
import { attribute, targetOf, tokens } from "./target.js";
import { textsFor } from "./texts.js";

/** A form's guard, for scripts. */
export interface Guarded {
  /** The key that the next submission of this content would carry. */
  readonly key: string;
  /** Whether later submit events are being cancelled. */
  readonly locked: boolean;
  /** Unlocks. definitive: this draft was dealt with, and the next submission is another one. */
  settle(answer: { definitive: boolean; replayed?: boolean }): void;
}

/** Watches the forms of one document. */
export class Watch {
  readonly #guards = new WeakMap<HTMLFormElement, FormGuard>();
  readonly #locked = new Set<FormGuard>();
  readonly #shelves = { tab: shelf(() => sessionStorage), origin: shelf(() => localStorage) };
  /** The submission whose submit event is being dispatched, or whose fields are being collected. */
  #current: { guard: FormGuard; submission: Submission } | undefined;
  /** Clicks in a row: 2 for the second click of a double click. */
  #clicks = 0;

  start(): void {
    this.#settleOnArrival();
    for (const form of Array.from(document.forms)) this.#prepare(form);
    new MutationObserver((changes) => this.#added(changes)).observe(document, { childList: true, subtree: true });
    const listen = (type: string, listener: (event: never) => void, capture = true): void =>
      window.addEventListener(type, listener as EventListener, capture);
    listen("submit", (event: SubmitEvent) => this.#onSubmit(event));
    listen("formdata", (event: FormDataEvent) => this.#onFormData(event), false);
    listen("semel:settle", (event: CustomEvent) => this.#onSettle(event));
    listen("click", (event: MouseEvent) => (this.#clicks = event.detail));
    listen("keydown", (event: KeyboardEvent) => {
      if (event.key === "Escape") this.#unlock(() => true);
    });
    listen("input", (event: Event) => {
      const form = (event.target as { form?: unknown }).form;
      if (event.isTrusted) this.#unlock((guard) => guard.form === form);
    });
    listen("beforeunload", (event: BeforeUnloadEvent) => this.#onDeparture(event));
    listen("pagehide", () => this.#onLeave());
    listen("pageshow", (event: PageTransitionEvent) => {
      if (!event.persisted) return;
      this.#unlock(() => true); // restored by Back: the same draft
      this.#settleOnArrival();
    });
    for (const type of ["pointerdown", "keydown", "focus"]) listen(type, () => this.#settleHere());
    listen("focus", () => this.#unlock((guard) => !guard.locked!.target.here));
    document.addEventListener("visibilitychange", () => this.#settleHere());
    const { cookieStore, navigation } = window as { cookieStore?: EventTarget; navigation?: EventTarget };
    cookieStore?.addEventListener("change", () => this.#settleHere());
    // Stop, Escape, or the person chose to stay: the submission was given up, and its key is kept.
    navigation?.addEventListener("navigateerror", () => this.#unlock(() => true));
  }

  guard(form: HTMLFormElement, options: GuardOptions = {}): Guarded {
    const guard = this.#guardOf(form, true)!;
    guard.options = options;
    guard.prepare_(arrival(window));
    return {
      get key() {
        return guard.keyInput_(null).value;
      },
      get locked() {
        return guard.locked !== undefined;
      },
      settle: (answer) => this.#settleForm(guard, answer),
    };
  }

  #guardOf(form: HTMLFormElement, wanted = false): FormGuard | undefined {
    const mode = attribute(form, "data-semel");
    const known = this.#guards.get(form);
    if (known || mode === "off") return known;
    if (!wanted && mode === null && !tokens(form).length) return undefined;
    const guard = new FormGuard(form, this.#shelves, nameOf(form));
    this.#guards.set(form, guard);
    return guard;
  }

  #prepare(form: HTMLFormElement): void {
    const guard = this.#guardOf(form);
    if (guard && targetOf(form, null).guarded_) guard.prepare_(arrival(window));
  }

  #added(changes: readonly MutationRecord[]): void {
    const forms = new Set<HTMLFormElement>();
    for (const node of changes.flatMap((change) => Array.from(change.addedNodes))) {
      if (!(node instanceof Element)) continue;
      for (const element of [node, ...Array.from(node.querySelectorAll("form, input[data-semel-token]"))]) {
        if (element instanceof HTMLFormElement) forms.add(element);
        else if (element instanceof HTMLInputElement && element.form) forms.add(element.form);
      }
    }
    forms.forEach((form) => this.#prepare(form));
  }

  #onSubmit(event: SubmitEvent): void {
    const form = event.target;
    const guard = form instanceof HTMLFormElement ? this.#guardOf(form) : undefined;
    if (!guard) return;
    const submission = {
      target: targetOf(guard.form, event.submitter), submitter: event.submitter, superseded_: false, departures_: 0,
    };
    if (submission.target.guarded_) {
      this.#settleHere();
      if (guard.locked && !(guard.stays && this.#clicks < 2)) {
        event.preventDefault();
        event.stopImmediatePropagation();
        return;
      }
      guard.prepare_(arrival(window));
      this.#forget(idOf(guard.keyInput_(submission.submitter).value));
      guard.locked = submission;
      this.#locked.add(guard);
    }
    const current = { guard, submission };
    this.#current = current;
    setTimeout(() => this.#afterSubmit(event, current)); // after every handler, and after the fields were collected
  }

  #afterSubmit(event: SubmitEvent, current: { guard: FormGuard; submission: Submission }): void {
    if (this.#current === current) this.#current = undefined;
    const { guard, submission } = current;
    if (guard.locked !== submission) return;
    if (event.defaultPrevented && !guard.holds) {
      this.#unlock((each) => each === guard);
      return;
    }
    guard.show();
    if (!submission.target.here) guard.watchFrame_(submission.target.window);
  }

  #onFormData(event: FormDataEvent): void {
    const form = event.target;
    const guard = form instanceof HTMLFormElement ? this.#guardOf(form) : undefined;
    if (!guard) return;
    const submission = this.#current?.guard === guard ? this.#current.submission : undefined;
    const target = submission?.target ?? targetOf(guard.form, null); // form.submit() and new FormData(form)
    if (target.guarded_) guard.sign_(event.formData, submission?.submitter ?? null);
    else guard.strip_(event.formData);
  }

  #onSettle(event: CustomEvent): void {
    const guard = event.target instanceof HTMLFormElement ? this.#guardOf(event.target) : undefined;
    if (guard) this.#settleForm(guard, event.detail ?? { definitive: true });
  }

  #settleForm(guard: FormGuard, answer: { definitive: boolean; replayed?: boolean }): void {
    if (answer.definitive) guard.end();
    this.#unlock((each) => each === guard);
    if (answer.replayed) announce(document, guard.text("duplicate"), guard.form.closest("[lang]")?.getAttribute("lang") ?? "");
  }

  /** The page is about to be left: for the submission's sake the first time, for another's after that. */
  #onDeparture(_: BeforeUnloadEvent): void {
    for (const { locked } of this.#locked) if (locked && ++locked.departures_ > 1) locked.superseded_ = true;
  }

  /** The page goes away: it says so in the records of its submissions, for the page that follows. */
  #onLeave(): void {
    for (const guard of this.#locked) {
      const input = guard.keyInput_(guard.locked!.submitter);
      const record = guard.shelf.get(guard.recordName_(input));
      const left = guard.locked!.target.here && !guard.locked!.superseded_;
      if (record?.key === input.value) guard.shelf.put(guard.recordName_(input), { ...record, left });
    }
  }

  #unlock(which: (guard: FormGuard) => boolean): void {
    for (const guard of this.#locked) {
      if (!which(guard)) continue;
      this.#locked.delete(guard);
      guard.unlock();
    }
  }

  /** Ends what outcomes speak of, as long as this page stays. */
  #settleHere(): void {
    if (!this.#locked.size) return;
    const outcomes = new Map(outcomesIn(cookies()).map((outcome) => [outcome.id, outcome]));
    for (const guard of this.#locked) {
      const outcome = outcomes.get(idOf(guard.keyInput_(guard.locked!.submitter).value));
      if (!outcome || !ends(outcome)) continue;
      const stays = guard.stays || !guard.locked!.target.here;
      if (!stays && outcome.status >= 300 && outcome.status < 400) continue; // the page that it leads to is on its way
      this.#locked.delete(guard);
      guard.end();
      if (outcome.word === "replayed" && (stays || withoutPage(outcome))) this.#tell(outcome, guard.text("duplicate"), "");
    }
  }

  #settleOnArrival(): void {
    const here = arrival(window);
    const metas = Array.from(document.querySelectorAll<HTMLMetaElement>('meta[name="semel-outcome"]'));
    const outcomes = [...outcomesIn(cookies()), ...metas.flatMap((meta) => outcomesOfMeta(meta.content))];
    const spokenOf = new Set(outcomes.map((outcome) => outcome.id));
    for (const shelf of Object.values(this.#shelves)) {
      settleByPage(shelf, here, (record) => spokenOf.has(idOf(record.key)));
      for (const { outcome, record } of settle(shelf, outcomes)) {
        if (outcome.word === "replayed") this.#tell(outcome, record.text, record.language);
      }
    }
  }

  /** Says once that a repetition was ignored. */
  #tell(outcome: Outcome, text: string | undefined, language = ""): void {
    announce(document, text ?? textsFor(language || document.documentElement.lang).duplicate, language);
    write(outcomesIn(cookies()).map((each) => (each.id === outcome.id ? { ...each, word: "seen" } : each)));
  }

  /** Takes an earlier attempt's outcome away, so that the one to come can be told from it. */
  #forget(id: string): void {
    const all = outcomesIn(cookies());
    const others = all.filter((outcome) => outcome.id !== id);
    if (others.length < all.length) write(others);
  }
}

/** Whether no page follows this answer, which would tell of the outcome itself. */
function withoutPage({ status }: Outcome): boolean {
  return status === 204 || status === 205;
}

/** The cookies of this page; none in a sandboxed frame. */
function cookies(): string {
  return attempt(() => document.cookie) ?? "";
}

function write(outcomes: readonly Outcome[]): void {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  attempt(() => (document.cookie = `${cookieName}=${formatOutcomes(outcomes)}; Path=/; Max-Age=3600; SameSite=Lax${secure}`));
}

/** What a form is known by on its page: its id, name or action, and its place among the forms with the same. */
function nameOf(form: HTMLFormElement): string {
  const known = (each: HTMLFormElement): string => attribute(each, "id") ?? attribute(each, "name") ?? attribute(each, "action") ?? "";
  const alike = Array.from(document.forms).filter((each) => known(each) === known(form));
  return `${location.pathname}|${known(form)}|${Math.max(0, alike.indexOf(form))}`;
}
