/**
 * The fields and buttons of a form, including those that belong to it by their form attribute. A field named "elements" hides
 * the form's own member, so the prototype is asked.
 */
export declare function elements(form: HTMLFormElement): Element[];
export declare function attribute(element: Element, name: string): string | null;
/** The gateway's tokens in a form: usually one, and one more for each button that leads elsewhere. */
export declare function tokens(form: HTMLFormElement): HTMLInputElement[];
export declare function submitters(form: HTMLFormElement): HTMLElement[];
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
export declare function targetOf(form: HTMLFormElement, submitter: Element | null): Target;
