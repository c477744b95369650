import { FormGuard, type GuardOptions, guards, type Submission } from "./guard-form.js";
import { announce } from "./lock.js";
import { cookieName, ends, formatOutcomes, idOf, type Outcome, outcomesIn, outcomesOfMeta } from "./outcome.js";
import { attempt, maxRecords, shelf } from "./storage.js";
import { attribute, drawn, inherit, putBack, takeOut, targetOf, tokens } from "./target.js";
import { languageOf, textsFor } from "./texts.js";
import { following, settle } from "./wish.js";

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
  /** The guards of forms with tokens, by the forms' names. */
  private readonly named_ = new Map<string, FormGuard>();
  private readonly locked_ = new Set<FormGuard>();
  private readonly shelves_ = { tab: shelf(() => sessionStorage), origin: shelf(() => localStorage) };
  /** The submission whose submit event is being dispatched, or whose fields are being collected. */
  current_: Submission | undefined;
  /** The submission whose fields were collected last; also one by form.submit(), which locks nothing. */
  signed_: Submission | undefined;
  /** The same, when its navigation has begun and none was asked for since. */
  sent_: Submission | undefined;
  /** A script asks for the fields of a form. */
  asked_: boolean | undefined;
  /** The last click. */
  click_: MouseEvent | undefined;

  start(): void {
    if (document.readyState === "loading") this.early_();
    else this.begin_();
    const listen = (type: string, listener: (event: never) => void, capture = true): void =>
      window.addEventListener(type, listener as EventListener, capture);
    listen("submit", (event: SubmitEvent) => this.onSubmit_(event));
    // A script has asked for the fields, unless microtasks run between two listeners: so Chromium collects them for its navigate event.
    listen("formdata", () => {
      this.asked_ = true;
      queueMicrotask(() => (this.asked_ = false));
    });
    listen("formdata", (event: FormDataEvent) => this.onFormData_(event), false);
    listen("semel:settle", (event: CustomEvent) => {
      const guard = this.guardIn_(event);
      if (guard) this.settleForm_(guard, event.detail ?? { definitive: true });
    });
    listen("click", (event: MouseEvent) => (this.click_ = event));
    listen("keydown", (event: KeyboardEvent) => {
      if (event.key === "Escape") this.unlock_();
    });
    listen("input", (event: Event) => {
      const form = (event.target as { form?: unknown }).form;
      if (event.isTrusted) this.unlock_((guard) => guard.form === form);
    });
    // The page is about to be left: for the submission's sake the first time, for another's after that.
    listen("beforeunload", () => {
      for (const { underWay_ } of this.locked_) underWay_!.departures_++;
    });
    // The page goes away: it says so in the records of its submissions, for the page that follows.
    listen("pagehide", () => {
      const all = Array.from(this.locked_, (guard) => guard.underWay_!);
      for (const { guard, submitter, target, departures_ } of all.concat(this.sent_ ?? [])) {
        guard.change_(guard.keyInput_(submitter), { left: target.here && departures_ < 2 });
      }
    });
    listen("pageshow", (event: PageTransitionEvent) => {
      if (!event.persisted) return;
      this.unlock_(); // restored by Back: the same draft
      this.settleOnArrival_();
    });
    for (const type of ["pointerdown", "keydown", "focus"]) listen(type, () => this.settleHere_(true));
    listen("focus", () => this.unlock_((guard) => !guard.underWay_!.target.here));
    document.addEventListener("visibilitychange", () => this.settleHere_(true));
    const { cookieStore, navigation } = window as { cookieStore?: EventTarget; navigation?: EventTarget };
    cookieStore?.addEventListener("change", () => this.settleHere_(false));
    // Stop, Escape, another navigation, or the person chose to stay: the submission was given up, and its key is kept. An earlier one's error,
    // such as that of a 204, comes when the next submission begins.
    navigation?.addEventListener("navigateerror", () => {
      this.unlock_((guard) => guard === this.sent_?.guard);
      this.sent_ = undefined;
    });
    navigation?.addEventListener("navigate", (event) => this.onNavigate_(event as Navigate));
  }

  begin_(): void {
    this.settleOnArrival_();
    for (const form of [...document.forms]) this.prepare_(form);
    new MutationObserver((changes) => this.added_(changes)).observe(document, { childList: true, subtree: true });
  }

  /**
   * Frameworks compare the page with their own rendering, and draw it anew when there is more in it. So the tokens are out of the page before the
   * first of their scripts can run: observers of mutations run before any other script. They come back before handlers of DOMContentLoaded run, but not
   * into what a framework has taken over: there they are added to what is sent.
   */
  early_(): void {
    const parsing = new MutationObserver(takeOut);
    parsing.observe(document, { childList: true, subtree: true });
    takeOut();
    const once = { capture: true, once: true };
    const back = (): void => [...document.forms].filter((form) => !drawn(form)).forEach((form) => (putBack(form), this.prepare_(form)));
    document.addEventListener("readystatechange", takeOut, once); // now come deferred scripts
    window.addEventListener("DOMContentLoaded", () => {
      parsing.disconnect();
      this.begin_();
      if (![...document.scripts].some(({ async, src }) => async && src.startsWith(location.origin))) back();
    }, once);
    window.addEventListener("load", back, once); // these scripts have run
  }

  guard(form: HTMLFormElement, options: GuardOptions = {}): Guarded {
    const guard = this.guardOf_(form, true)!;
    guard.options = options;
    guard.prepare_();
    return {
      get key() {
        return guard.keyInput_(null).value;
      },
      get locked() {
        return guard.underWay_ !== undefined;
      },
      settle: (answer) => this.settleForm_(guard, answer),
    };
  }

  guardOf_(form: HTMLFormElement, wanted = false): FormGuard | undefined {
    const mode = attribute(form, "data-semel");
    const known = guards.get(form);
    if (known || mode === "off") return known;
    const name = nameOf(form);
    const before = this.named_.get(name);
    // Drawn anew before anything was sent: the same form.
    if (before && !tokens(form).length && !before.form.isConnected && !before.sent_) inherit(form, before.form);
    const given = tokens(form).length;
    if (!wanted && mode === null && !given) return undefined;
    const guard = new FormGuard(form, this.shelves_, name);
    guards.set(form, guard);
    if (given) this.named_.set(name, guard);
    if (this.named_.size > maxRecords) this.named_.delete(this.named_.keys().next().value!);
    return guard;
  }

  guardIn_({ target }: Event): FormGuard | undefined {
    return target instanceof HTMLFormElement ? this.guardOf_(target) : undefined;
  }

  prepare_(form: HTMLFormElement): void {
    const guard = this.guardOf_(form);
    if (guard && targetOf(form, null).guarded_) guard.prepare_();
  }

  added_(changes: readonly MutationRecord[]): void {
    const forms = new Set<HTMLFormElement>();
    for (const node of changes.flatMap((change) => [...change.addedNodes])) {
      if (!(node instanceof Element)) continue;
      for (const element of [node, ...node.querySelectorAll('form, input[value^="sm1."]')]) {
        if (element instanceof HTMLFormElement) forms.add(element);
        else if (element instanceof HTMLInputElement && element.form) forms.add(element.form);
      }
    }
    forms.forEach((form) => this.prepare_(form));
  }

  onSubmit_(event: SubmitEvent): void {
    const guard = this.guardIn_(event);
    if (!guard) return;
    const submission = submissionOf(guard, event.submitter, event);
    const { target } = submission;
    const { ctrlKey, metaKey, shiftKey } = this.click_ ?? {};
    // So pressed, a button opens the answer in another tab or window.
    if (event.submitter && (ctrlKey || metaKey || shiftKey)) Object.assign(target, { here: false, window: "_blank" });
    if (target.guarded_) {
      this.settleHere_(false);
      const stays = guard.stays || guard.underWay_?.target.window === "_blank";
      putBack(guard.form);
      guard.prepare_();
      const input = guard.keyInput_(event.submitter);
      if ((guard.underWay_ && !stays) || guard.wishes_.get(input)!.again_) {
        event.preventDefault();
        event.stopImmediatePropagation();
        return;
      }
      this.forget_(idOf(input.value));
      guard.underWay_ = submission;
      this.unlock_(({ form }) => !form.isConnected); // a page may drop a form before its answer
      this.locked_.add(guard);
      this.sent_ = undefined;
    }
    this.current_ = submission;
    setTimeout(() => this.afterSubmit_(submission)); // after every handler, and after the fields were collected
  }

  afterSubmit_(submission: Submission): void {
    if (this.current_ === submission) this.current_ = undefined;
    const { guard, target, event } = submission;
    if (guard.underWay_ !== submission) return;
    if (event!.defaultPrevented && !guard.holds) {
      this.unlock_((each) => each === guard);
      return;
    }
    guard.show();
    if (!target.here) guard.watchFrame_(target.window, (answer) => this.settleForm_(guard, answer));
  }

  onFormData_(event: FormDataEvent): void {
    const guard = this.guardIn_(event);
    if (!guard) return;
    const sent = this.current_?.guard === guard && this.current_;
    const goes = sent && !sent.event!.defaultPrevented;
    if (goes && !sent.event!.eventPhase) this.current_ = undefined; // the browser's own collection; pages read after it
    const submission = sent || submissionOf(guard, null); // form.submit() and new FormData(form)
    const aside = this.asked_ ? !sent && guard.underWay_ && !guard.underWay_.event!.defaultPrevented : !goes;
    if (submission.target.guarded_) guard.sign_(event.formData, submission.submitter, !sent, aside);
    else guard.strip_(event.formData);
    if (!aside) this.signed_ = submission;
  }

  settleForm_(guard: FormGuard, answer: { definitive: boolean; replayed?: boolean }): void {
    if (answer.definitive) guard.end();
    this.unlock_((each) => each === guard);
    if (answer.replayed) announce(guard.text("duplicate"), languageOf(guard.form));
  }

  /** A navigation begins. The browser also reports one when the page's own form.submit() sends a form. */
  onNavigate_({ destination, formData }: Navigate): void {
    if (destination.sameDocument) return;
    const signed = this.signed_;
    this.sent_ = signed && formData?.has(signed.guard.keyInput_(signed.submitter).name) ? signed : undefined;
    if (this.sent_ && !signed!.event) signed!.guard.went_();
  }

  unlock_(which?: (guard: FormGuard) => boolean): void {
    for (const guard of this.locked_) {
      if (which && !which(guard)) continue;
      this.locked_.delete(guard);
      guard.unlock();
    }
  }

  /**
   * Checks whether an outcome has come while this page is still here. A page that stays for sure ends its draft. One that
   * may be about to be replaced does not: it would show the wrong page the notice, and take a late click for another
   * wish. After a redirect it stays locked; otherwise a press of the person's unlocks the same draft.
   */
  settleHere_(pressed: boolean): void {
    const outcomes = told();
    for (const guard of this.locked_) {
      const id = idOf(guard.keyInput_(guard.underWay_!.submitter).value);
      const outcome = outcomes.findLast((each) => each.id === id);
      if (!outcome || !ends(outcome)) continue;
      const { status } = outcome;
      const ended = status === 204 || status === 205 || guard.stays || !guard.underWay_!.target.here;
      if (!ended && status >= 300 && status < 400) continue;
      if (!ended && !pressed) {
        guard.notice_?.hide(); // the answer is here: a page that replaces this one, or a download
        continue;
      }
      const text = guard.text("duplicate", guard.underWay_!.target.window === "_blank" ? "elsewhere" : "duplicate");
      if (ended) guard.end();
      this.unlock_((each) => each === guard);
      if (ended && outcome.word === "replayed") this.tell_(outcome, text);
    }
  }

  settleOnArrival_(): void {
    const here = following();
    const metas = [...document.querySelectorAll<HTMLMetaElement>('meta[name="semel-outcome"]')];
    const outcomes = [...told(), ...metas.flatMap((meta) => outcomesOfMeta(meta.content))];
    for (const shelf of Object.values(this.shelves_)) {
      for (const { outcome, record } of settle(shelf, here, outcomes)) {
        if (outcome.word === "replayed") this.tell_(outcome, record.text, record.language);
      }
    }
  }

  /** Says once that a repetition was ignored. */
  tell_(outcome: Outcome, text: string | undefined, language = ""): void {
    announce(text ?? textsFor(language || document.documentElement.lang).duplicate, language);
    write(told().map((each) => (each.id === outcome.id ? { ...each, word: "seen" } : each)));
  }

  /** Takes an earlier attempt's outcome away, so that the next one can be distinguished from it. */
  forget_(id: string): void {
    if (told().some((outcome) => outcome.id === id)) write(told().filter((outcome) => outcome.id !== id));
  }
}

/** What is used of a NavigateEvent. */
interface Navigate extends Event {
  destination: { sameDocument: boolean };
  formData: FormData | null;
}

function submissionOf(guard: FormGuard, submitter: HTMLElement | null, event?: SubmitEvent): Submission {
  return { guard, target: targetOf(guard.form, submitter), submitter, event, departures_: 0 };
}

/** What this page's cookie tells; nothing in a sandboxed frame. */
function told(): Outcome[] {
  return outcomesIn(attempt(() => document.cookie) ?? "");
}

function write(outcomes: readonly Outcome[]): void {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  attempt(() => (document.cookie = `${cookieName}=${formatOutcomes(outcomes)}; Path=/; SameSite=Lax${secure}`));
}

/**
 * What a form is known by on its page: its id or name, the path it goes to, and its place among the forms with the same.
 * Without the path a token of one route would come back into a form that goes to another.
 */
function nameOf(form: HTMLFormElement): string {
  const known = (each: HTMLFormElement): string =>
    (attribute(each, "id") ?? attribute(each, "name") ?? "") + " " + attribute(each, "action")?.replace(/[;?#].*/, "");
  const alike = [...document.forms].filter((each) => known(each) === known(form));
  return `${location.pathname}|${known(form)}|${alike.indexOf(form)}`;
}
