/** A page around what a framework takes over. Of the two places for its script, the one that it can run at. */
export function around(root: string, script: string): string {
  const element = `<script ${script} src="/app.js"></script>`;
  const [head, end] = script === "async" ? ["", element] : [element, ""];
  return `<!doctype html><html lang="en"><head><title>Order</title><link rel="icon" href="data:,">${head}</head><body><div id="root">${root}</div>${end}</body></html>`;
}
