/** Whether a request to the address from that was redirected to location was sent to a sign-in page: nothing happened. */
export declare function leadsToSignIn(from: string, location: string): boolean;
/** Whether an address looks like a sign-in page, on any host. */
export declare function asksToSignIn({ pathname, search }: URL): boolean;
/** Whether a response to a request to sentTo is a sign-in page, to which it was redirected. */
export declare function wasSentToSignIn(response: Response, sentTo: string): boolean;
