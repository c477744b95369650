/** A signal that is aborted with the first of these. Safari has AbortSignal.any since 17.4 only. */
export function anyOf(...signals: AbortSignal[]): AbortSignal {
  if (typeof AbortSignal.any === "function") return AbortSignal.any(signals);
  const any = new AbortController();
  for (const signal of signals) {
    const stop = (): void => any.abort(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { signal: any.signal });
  }
  return any.signal;
}
