import { Notice } from "./lock.js";
import { type Record, type Shelf } from "./storage.js";
import { type Target } from "./target.js";
import { type Texts } from "./texts.js";
import { type Arrival, Wish } from "./wish.js";
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
export declare const guards: WeakMap<HTMLFormElement, FormGuard>;
/** What the guard of one form knows. */
export declare class FormGuard {
    readonly form: HTMLFormElement;
    readonly shelves_: {
        tab: Shelf;
        origin: Shelf;
    };
    readonly name: string;
    options: GuardOptions;
    /** The submission whose answer is out: the form is locked. */
    underWay_: Submission | undefined;
    notice_: Notice | undefined;
    /** Something was sent from here. */
    sent_: boolean;
    readonly id_: string;
    readonly wishes_: WeakMap<HTMLInputElement, Wish>;
    constructor(form: HTMLFormElement, shelves_: {
        tab: Shelf;
        origin: Shelf;
    }, name: string);
    get draft(): string | null;
    get field(): string;
    get shelf(): Shelf;
    get stays(): boolean;
    get holds(): boolean;
    text(name: "saving" | "duplicate", otherwise?: keyof Texts): string;
    /** The name of an input's record, which holds keys of one kind: a form may hold a token for each button that leads elsewhere. */
    recordName_(input: HTMLInputElement): string;
    /**
     * The record of this content: the input's own, or that of a form like it in an earlier page, where rows of a list may have been in other places.
     */
    recordOf_(name: string, content: string): Record | undefined;
    /** What was read has been sent. */
    went_(): void;
    /** Changes the records of an input's key. */
    change_(input: HTMLInputElement, change: Partial<Record>): void;
    /**
     * Gives each rendering its key, once: that of the draft which is still open, or has come back by Back, or a new one. A token stays: only
     * the content can tell, when it is sent, whether an earlier one has to go on.
     */
    prepare_(here?: Arrival): void;
    /** Also remembers a rendering that has not been sent: a copy of this tab, and of a named draft any tab, has its key. */
    remember_(input: HTMLInputElement, here: Arrival): void;
    ownField_(): HTMLInputElement;
    /** The input whose key this submission uses: the token right before the button, else the form's first. */
    keyInput_(submitter: HTMLElement | null): HTMLInputElement;
    /**
     * Writes down that this content is about to be sent, and puts its key into what is sent. Outside of a submit event the page may only read its
     * form, as to save a copy of it (maybe): that replaces no record of what was sent, and nothing at all while that is under way (aside).
     */
    sign_(data: FormData, submitter: HTMLElement | null, maybe: boolean, aside?: boolean): void;
    /** Takes keys and tokens out of what is sent to a place that must not see them. */
    strip_(data: FormData): void;
    show(): void;
    unlock(): void;
    /** A definitive answer came while the page stayed. */
    end(): void;
    /** Says when the frame that gets the answer has it, and whether it is a definitive one. */
    watchFrame_(name: string, settle: (answer: {
        definitive: boolean;
    }) => void): void;
}
