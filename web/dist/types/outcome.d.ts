/** The outcome of a submission. */
export type Word = "executed" | "replayed" | "seen" | "in-flight" | "unknown" | "refused";
/** One submission's outcome, as a cookie or a page tells it. */
export interface Outcome {
    id: string;
    word: Word;
    status: number;
}
export declare const cookieName = "semel_outcome";
/** Reads the outcomes of a document.cookie; what is not well formed is left out. */
export declare function outcomesIn(cookies: string): Outcome[];
/** Reads the content of <meta name="semel-outcome" content="KEY WORD STATUS">. */
export declare function outcomesOfMeta(content: string): Outcome[];
/** The cookie's value for these outcomes. */
export declare function formatOutcomes(outcomes: readonly Outcome[]): string;
/** Whether a value is a gateway's token. */
export declare function isToken(value: string): boolean;
/** The name by which outcomes speak of a key: a gateway token's id (its first 16 bytes), or the key itself. */
export declare function idOf(key: string): string;
/** Whether a draft ends with this outcome, so that the next one has another key. */
export declare function ends({ word, status }: Outcome): boolean;
/**
 * Whether a page's status alone says that a submission was dealt with. 409 does not: it may mean one that is
 * still being worked on.
 */
export declare function definitivePage(status: number): boolean;
