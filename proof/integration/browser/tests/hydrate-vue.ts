import type { ServerResponse } from "node:http";
import { createSSRApp } from "vue";
import { renderToString } from "vue/server-renderer";
import { around } from "./hydrate-around.ts";
import { Order } from "./hydrate-vue-page.ts";

/** Answers with the page that Vue draws at the server. */
export async function answer(_: string, script: string, response: ServerResponse): Promise<void> {
  response.end(around(await renderToString(createSSRApp(Order)), script));
}
