/** A signal that is aborted with the first of these. Safari has AbortSignal.any since 17.4 only. */
export declare function anyOf(...signals: AbortSignal[]): AbortSignal;
