import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
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
  site.answer = (request, response) => {
    if (request.path === "/seen") response.writeHead(204).end();
    else response.writeHead(303, { Location: landing.url, "Set-Cookie": `${cookie}; Path=/` }).end();
  };
  await page.addInitScript(() => {
    cookieStore.addEventListener("change", () => setTimeout(function look() { // after what the guard does then
      if (!document.cookie) return void setTimeout(look); // the event can be ahead of the page's cookies
      dispatchEvent(new PointerEvent("pointerdown"));
      const notices = document.querySelectorAll(".semel-notice").length;
      const seen = { busy: String(document.forms[0]!.ariaBusy), notices: String(notices), cookie: document.cookie };
      void fetch("/seen", { method: "POST", body: new URLSearchParams(seen) });
    }), { once: true });
  });
  await page.goto(site.url);
  const box = (await page.getByRole("button").boundingBox())!;
  await page.mouse.click(box.x + 5, box.y + 5); // a locator would wait for the next page
  await expect.poll(() => site.arrived.find((one) => one.path === "/seen")?.fields).toEqual([
    ["busy", "true"], ["notices", "0"], ["cookie", cookie],
  ]);
  await expect.poll(() => landing.asked.length).toBe(1);
  landing.asked[0]!.writeHead(200, { "Content-Type": "text/html" }).end("<h1>Done</h1>");
  await expect(page.getByRole("heading")).toHaveText("Done");
});
