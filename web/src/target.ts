import { isToken } from "./outcome.js";
import { attempt } from "./storage.js";

/**
 * The fields and buttons of a form, including those that belong to it by their form attribute. A field named "elements" hides
 * the form's own member, so the prototype is asked.
 */
export function elements(form: HTMLFormElement): Element[] {
  return Array.from(Reflect.get(HTMLFormElement.prototype, "elements", form));
}

export function attribute(element: Element, name: string): string | null {
  return Element.prototype.getAttribute.call(element, name);
}

/** The gateway's tokens in a form: usually one, and one more for each button that leads elsewhere. */
export function tokens(form: HTMLFormElement): HTMLInputElement[] {
  return elements(form).filter((element): element is HTMLInputElement =>
    element instanceof HTMLInputElement && element.hasAttribute("data-semel-token") && isToken(element.value));
}

export function submitters(form: HTMLFormElement): HTMLElement[] {
  return elements(form).concat(Array.from(form.ownerDocument.querySelectorAll('input[type="image"]')))
    .filter((element): element is HTMLElement =>
      (element instanceof HTMLButtonElement || element instanceof HTMLInputElement) &&
      /^(submit|image)$/.test(element.type) && element.form === form);
}

/** Where a submission goes. */
export interface Target {
  /** It creates something at this origin: only then is there a key. */
  guarded_: boolean;
  /** The answer appears in this page's place. */
  here: boolean;
  /** The name of the window or frame for the answer. */
  window: string;
}

/** Where a submission by this button (or none) goes. */
export function targetOf(form: HTMLFormElement, submitter: Element | null): Target {
  const say = (name: string): string | null =>
    (submitter && attribute(submitter, "form" + name)) ?? attribute(form, name);
  const { baseURI, location } = form.ownerDocument;
  const origin = attempt(() => new URL(say("action") || location.href, baseURI).origin); // none: the browser will not send it
  const window = say("target") ?? form.ownerDocument.querySelector("base[target]")?.getAttribute("target") ?? "";
  return {
    guarded_: origin === location.origin && /^post$/i.test(say("method") ?? ""),
    here: /^(|_self|_parent|_top)$/i.test(window),
    window,
  };
}
