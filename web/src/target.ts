import { isToken } from "./outcome.js";
import { attempt } from "./storage.js";

/**
 * The fields and buttons of a form, including those that belong to it by their form attribute. A field named "elements" hides
 * the form's own member, so the prototype is asked.
 */
export function elements(form: HTMLFormElement): Element[] {
  return [...Reflect.get(HTMLFormElement.prototype, "elements", form)];
}

export function attribute(element: Element, name: string): string | null {
  return Element.prototype.getAttribute.call(element, name);
}

/** The fields of the gateway that were seen in a form, each with the element behind it. */
const seen = new WeakMap<HTMLFormElement, Map<HTMLInputElement, Element | null>>();

const given = (element: Element): element is HTMLInputElement =>
  element instanceof HTMLInputElement && element.type === "hidden" && element.value.startsWith("sm1.");

/**
 * The tokens that the gateway or a template put into a form: usually one, and one more for each button that leads elsewhere. Those that
 * are gone still count, unless the page has put others in their place.
 */
export function tokens(form: HTMLFormElement): HTMLInputElement[] {
  const inside = elements(form).filter(given);
  const fields = seen.get(form) ?? new Map<HTMLInputElement, Element | null>();
  for (const input of inside) fields.set(input, fields.get(input) ?? input.nextElementSibling);
  if (inside.length) seen.set(form, fields);
  return (inside.length ? inside : [...fields.keys()]).filter((input) => isToken(input.value));
}

/** The fields that were seen in a form and are gone, each with the element behind it; none where the page has put others in their place. */
export function missing(form: HTMLFormElement): [HTMLInputElement, Element | null][] {
  return elements(form).some(given) ? [] : [...(seen.get(form) ?? [])];
}

/** The element behind a token: the button that it is for alone, if it is for one. */
export function behind(form: HTMLFormElement, input: HTMLInputElement): Element | null | undefined {
  return input.nextElementSibling ?? seen.get(form)?.get(input);
}

/** Takes these fields out of their forms, but for those whose next element the parser has not come to. */
export function takeOut(): void {
  for (const input of document.querySelectorAll<HTMLInputElement>('input[type=hidden][value^="sm1."]')) {
    if (!input.form || (!input.nextElementSibling && document.readyState === "loading")) continue;
    tokens(input.form);
    input.remove();
  }
}

/** Puts back what is missing in a form: before the same element, else first. */
export function putBack(form: HTMLFormElement): void {
  for (const [input, next] of missing(form).reverse()) {
    if (next && form.contains(next)) next.before(input);
    else form.prepend(input);
  }
}

/** Lets a form that was drawn anew have the fields of the one that it replaces. */
export function inherit(form: HTMLFormElement, from: HTMLFormElement): void {
  seen.set(form, seen.get(from)!);
}

/** Whether a framework has drawn the form, or is about to: frameworks mark the element that they take over, or the document. */
export function drawn(form: HTMLFormElement): boolean {
  for (let node: Node | null = form; node; node = node.parentNode) {
    if (Object.keys(node).some((name) => name.startsWith("__"))) return true;
  }
  return false;
}

export function submitters(form: HTMLFormElement): HTMLElement[] {
  return [...elements(form), ...document.querySelectorAll('input[type="image"]')]
    .filter((element): element is HTMLElement =>
      (element instanceof HTMLButtonElement || element instanceof HTMLInputElement) &&
      /^(submit|image)$/.test(element.type) && element.form === form);
}

/** Where a submission goes. */
export interface Target {
  /** It creates something at this origin: only then is there a key. */
  guarded_: boolean;
  /** The address, without its fragment; undefined where the action cannot be parsed. */
  url: string | undefined;
  /** The answer appears in this page's place. */
  here: boolean;
  /** The name of the window or frame for the answer. */
  window: string;
}

/** Where a submission by this button (or none) goes. */
export function targetOf(form: HTMLFormElement, submitter: Element | null): Target {
  const say = (name: string): string | null =>
    (submitter && attribute(submitter, "form" + name)) ?? attribute(form, name);
  const url = attempt(() => new URL(say("action") || location.href, document.baseURI)); // none: the browser will not send it
  const window = say("target") ?? document.querySelector("base[target]")?.getAttribute("target") ?? "";
  return {
    guarded_: url?.origin === location.origin && /^post$/i.test(say("method") ?? ""),
    url: url?.href.replace(/#.*/, ""),
    here: /^(|_self|_parent|_top)$/i.test(window),
    window,
  };
}
