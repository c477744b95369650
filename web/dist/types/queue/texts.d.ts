import { type Trouble, type Word } from "./entry.js";
/** What a person reads about the queue. {n}: a number. {what}: an entry's label. {said}: what the server said. */
export interface QueueTexts {
    /** Nothing waits: all of it was sent. */
    empty: string;
    /** Nothing waits, after the last of it was discarded. */
    nothing: string;
    waiting: Readonly<Partial<Record<Intl.LDMLPluralRule, string>>>;
    offline: string;
    signIn: string;
    /** Above the entries that were set aside. */
    asideTitle: string;
    aside: Readonly<Partial<Record<Intl.LDMLPluralRule, string>>>;
    retry: string;
    discard: string;
    confirm: string;
    reallyDiscard: string;
    keep: string;
    /** Why an entry was set aside, or waits. */
    reasons: Readonly<Partial<Record<Word, string>>>;
    said: string;
    /** add() rejected. */
    notKept: string;
    /** What is wrong with the queue itself, or with what add() was given. */
    trouble: Readonly<Partial<Record<Trouble, string>>>;
}
/** The texts by language. English is used for every other language. */
export declare const queueTexts: Readonly<Record<"en" | "sv" | "hi" | "zh", QueueTexts>>;
/** The texts for a language tag such as "sv-FI", and the tag of the language they are in. */
export declare function queueTextsFor(language: string): {
    texts: QueueTexts;
    language: string;
};
/** What a person reads when add() has rejected, in the language of a tag such as "sv-FI": that nothing was kept or sent, and why. */
export declare function refusalText(error: unknown, language: string): string;
/** A text with its number. */
export declare function counted(forms: QueueTexts["waiting"], n: number, language: string): string;
