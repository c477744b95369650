/** The texts that a person reads. Every text can be replaced: by an attribute of the form, or by an option. */
export interface Texts {
    /** Shown and announced while a submission is under way. */
    saving: string;
    /** Shown and announced after a repetition was answered by the first attempt's answer. */
    duplicate: string;
    /** The same, when the answer is in another tab. */
    elsewhere: string;
}
/** The texts by language. English is used for every other language. */
export declare const texts: Readonly<Record<"en" | "sv" | "hi" | "zh", Texts>>;
/** The texts for a language tag such as "sv-FI"; for one that is unknown, or none, English. */
export declare function textsFor(language: string | null | undefined): Texts;
/** The language of an element: that of the nearest lang attribute. */
export declare function languageOf(element: Element): string;
