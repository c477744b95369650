import type { CDPSession } from "@playwright/test";

/** Runs the function in the page that stands while another one is on its way, which Playwright's own evaluate waits for. */
export async function evaluate<T>(devtools: CDPSession, run: () => T | Promise<T>): Promise<T> {
  return (await evaluateText(devtools, `(${run})()`)) as T;
}

/** The same with the text of an expression. */
export async function evaluateText(devtools: CDPSession, expression: string): Promise<unknown> {
  const { result, exceptionDetails } = await devtools.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
}
