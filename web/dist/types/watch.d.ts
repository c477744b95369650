import { type GuardOptions } from "./guard-form.js";
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
    #private;
    start(): void;
    guard(form: HTMLFormElement, options?: GuardOptions): Guarded;
}
