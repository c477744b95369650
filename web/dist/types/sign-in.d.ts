/** Whether a request to the address from that was redirected to location was sent to a sign-in page: nothing happened. */
export declare function leadsToSignIn(from: string, location: string): boolean;
