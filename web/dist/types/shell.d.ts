/**
 * The files that load without a network. Each comes from the server as long as that answers within patienceMs. Otherwise the kept
 * one is used, and an answer that comes later is kept for the next time.
 */
export declare class Shell {
    #private;
    private readonly name;
    private readonly signedOut;
    constructor(name: string, signedOut: (response: Response, sentTo: string) => boolean);
    /** Keeps these files, all or none. @throws TypeError when an answer is not the file. */
    install(addresses: readonly string[]): Promise<void>;
    /** Answers a request for a file. end is when the worker may sleep. */
    load(request: Request): {
        answer: Promise<Response>;
        end: Promise<unknown>;
    };
}
