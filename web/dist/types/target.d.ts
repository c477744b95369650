/**
 * The fields and buttons of a form, including those that belong to it by their form attribute. A field named "elements" hides
 * the form's own member, so the prototype is asked.
 */
export declare function elements(form: HTMLFormElement): Element[];
export declare function attribute(element: Element, name: string): string | null;
/**
 * The tokens that the gateway or a template put into a form: usually one, and one more for each button that leads elsewhere. Those that
 * are gone still count, unless the page has put others in their place.
 */
export declare function tokens(form: HTMLFormElement): HTMLInputElement[];
/** The fields that were seen in a form and are gone, each with the element behind it; none where the page has put others in their place. */
export declare function missing(form: HTMLFormElement): [HTMLInputElement, Element | null][];
/** The element behind a token: the button that it is for alone, if it is for one. */
export declare function behind(form: HTMLFormElement, input: HTMLInputElement): Element | null | undefined;
/** Takes these fields out of their forms, but for those whose next element the parser has not come to. */
export declare function takeOut(): void;
/** Puts back what is missing in a form: before the same element, else first. */
export declare function putBack(form: HTMLFormElement): void;
/** Lets a form that was drawn anew have the fields of the one that it replaces. */
export declare function inherit(form: HTMLFormElement, from: HTMLFormElement): void;
/** Whether a framework has drawn the form, or is about to: frameworks mark the element that they take over, or the document. */
export declare function drawn(form: HTMLFormElement): boolean;
export declare function submitters(form: HTMLFormElement): HTMLElement[];
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
export declare function targetOf(form: HTMLFormElement, submitter: Element | null): Target;
