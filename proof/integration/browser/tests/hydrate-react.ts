import type { ServerResponse } from "node:http";
import { createElement } from "react";
import { renderToPipeableStream, renderToString } from "react-dom/server";
import { around } from "./hydrate-around.ts";
import { Document, Order } from "./hydrate-react-page.ts";

/** Answers with the page that React draws at the server. */
export function answer(root: string, script: string, response: ServerResponse): void {
  if (root === "the document") renderToPipeableStream(createElement(Document), { bootstrapScripts: ["/app.js"] }).pipe(response);
  else response.end(around(renderToString(createElement(Order, root === "a page of its own" ? { where: " at the server" } : {})), script));
}
