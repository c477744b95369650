/** What a person sees and hears of a submission that is under way. */
export declare class Notice {
    private readonly form;
    private readonly marked_;
    private readonly dimmed_;
    private readonly status_;
    /** Puts an empty live region into the form, so that a text in it will be announced. Nothing moves. */
    constructor(form: HTMLFormElement);
    /** Marks the form as busy and shows the text next to the buttons. Keeps focus, sizes and values as they are. */
    show(text: string, language: string, near: HTMLElement | null): void;
    hide(): void;
    mark_(element: Element, name: string): void;
}
/** Shows a text at the top of the page, as the gateway does, unless the page has such a text already. */
export declare function announce(text: string, language: string): void;
