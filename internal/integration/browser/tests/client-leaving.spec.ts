import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { evaluate } from "./devtools.ts";
import { expect, test as base } from "./site.ts";

/** A page that is asked for and does not come before the test lets it. */
interface Landing {
  url: string;
  asked: ServerResponse[];
}

const test = base.extend<{ landing: Landing }>({
  landing: async ({}, use) => {
    const asked: ServerResponse[] = [];
    const server = createServer((_, response) => void asked.push(response)).listen(0, "127.0.0.1");
    await once(server, "listening");
    await use({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked });
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  },
});

test("a redirect is under way: the form stays locked, and the next page tells of the repetition", async ({ page, site, landing }) => {
  const token = "sm1." + "A".repeat(50);
  site.page = `<form method="post" action="/save"><input type="hidden" name="_semel" value="${token}" data-semel-token><button>Save</button></form>`;
  const cookie = `semel_outcome=${"A".repeat(22)}:replayed:303`;
  site.answer = (_, response) => void response.writeHead(303, { Location: landing.url, "Set-Cookie": `${cookie}; Path=/` }).end();
  await page.goto(site.url);
  const devtools = await page.context().newCDPSession(page);
  await page.getByRole("button").click({ noWaitAfter: true });
  await expect.poll(() => landing.asked.length).toBe(1);
  const old = await evaluate(devtools, async () => {
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))); // after what the cookie set off
    dispatchEvent(new PointerEvent("pointerdown"));
    return {
      busy: document.forms[0]!.ariaBusy, notices: document.querySelectorAll(".semel-notice").length, cookie: document.cookie,
    };
  });
  expect(old).toEqual({ busy: "true", notices: 0, cookie });
  landing.asked[0]!.writeHead(200, { "Content-Type": "text/html" }).end("<h1>Done</h1>");
  await expect(page.getByRole("heading")).toHaveText("Done");
});
