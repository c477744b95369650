/** A page's address for a request. @throws TypeError for anything else, such as an object: a browser would send to /[object%20Object]. */
export declare function addressOf(input: unknown): string;
