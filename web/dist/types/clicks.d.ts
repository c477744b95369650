/** The person's click sequences: a double click is one. */
export declare const clicks: {
    /** Counts the sequences and edits. */
    turn_: number;
    /** Whether the last click was a further one of its sequence: the second of a double click. */
    further_: boolean;
};
/** Hears an event of the page before its handlers do; a server has none. */
export declare const listen: (type: string, listener: (event: Event) => void) => void;
