/** One wish of one person, by the name the developer gave it. It has one key until it is dealt with. */
export interface Intent {
    name: string;
    /** One intent in every tab of the origin (the default), or one in each tab. */
    shared: boolean;
}
/** The key for an intent with this content: other content is another wish. It is stored before it is returned. */
export declare function keyFor(intent: Intent, digest: string): string;
/** Ends an intent, if this is still its key: the next wish of this name gets another one. */
export declare function endIntent(intent: Intent, key: string): void;
