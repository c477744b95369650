import { FormGuard, type GuardOptions, type Submission } from "./guard-form.js";
import { type Outcome } from "./outcome.js";
/** A form's guard, for scripts. */
export interface Guarded {
    /** The key that the next submission of this content would carry. */
    readonly key: string;
    /** Whether later submit events are being cancelled. */
    readonly locked: boolean;
    /** Unlocks. definitive: this draft was dealt with, and the next submission is another one. */
    settle(answer: {
        definitive: boolean;
        replayed?: boolean;
    }): void;
}
/** Watches the forms of one document. */
export declare class Watch {
    /** The guards of forms with tokens, by the forms' names. */
    private readonly named_;
    private readonly locked_;
    private readonly shelves_;
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
    start(): void;
    begin_(): void;
    /**
     * Frameworks compare the page with their own rendering, and draw it anew when there is more in it. So the tokens are out of the page before the
     * first of their scripts can run: observers of mutations run before any other script. They come back before handlers of DOMContentLoaded run, but not
     * into what a framework has taken over: there they are added to what is sent.
     */
    early_(): void;
    guard(form: HTMLFormElement, options?: GuardOptions): Guarded;
    guardOf_(form: HTMLFormElement, wanted?: boolean): FormGuard | undefined;
    guardIn_({ target }: Event): FormGuard | undefined;
    prepare_(form: HTMLFormElement): void;
    added_(changes: readonly MutationRecord[]): void;
    onSubmit_(event: SubmitEvent): void;
    afterSubmit_(submission: Submission): void;
    onFormData_(event: FormDataEvent): void;
    settleForm_(guard: FormGuard, answer: {
        definitive: boolean;
        replayed?: boolean;
    }): void;
    /** A navigation begins. The browser also reports one when the page's own form.submit() sends a form. */
    onNavigate_({ destination, formData }: Navigate): void;
    unlock_(which?: (guard: FormGuard) => boolean): void;
    /**
     * Checks whether an outcome has come while this page is still here. A page that stays for sure ends its draft. One that
     * may be about to be replaced does not: it would show the wrong page the notice, and take a late click for another
     * wish. After a redirect it stays locked; otherwise a press of the person's unlocks the same draft.
     */
    settleHere_(pressed: boolean): void;
    settleOnArrival_(): void;
    /** Says once that a repetition was ignored. */
    tell_(outcome: Outcome, text: string | undefined, language?: string): void;
    /** Takes an earlier attempt's outcome away, so that the next one can be distinguished from it. */
    forget_(id: string): void;
}
/** What is used of a NavigateEvent. */
interface Navigate extends Event {
    destination: {
        sameDocument: boolean;
    };
    formData: FormData | null;
}
export {};
