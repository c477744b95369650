import { texts } from "./texts.js";
/** What a page of scripts says while a request waits, in addition to the texts of forms. */
export interface WaitingTexts {
    /** Waiting for the network. */
    offline: string;
    /** It is not known yet whether it was done; the same draft can be sent again safely. */
    unsure: string;
}
/** The texts by language. English is used for every other language. */
export declare const waitingTexts: Readonly<Record<keyof typeof texts, WaitingTexts>>;
