import { semelFetch, verdict } from "./semel.js";

// An extension for htmx 4: every request that changes something carries a key, and a second one from the same element is
// dropped while the first is under way (htmx itself would queue it and send it afterwards).

interface Context {
  sourceElement: Element;
  request: RequestInit & { action: string; method: string; form?: HTMLFormElement | null };
  fetch?: (action: string, request: RequestInit) => Promise<Response>;
  response?: { raw: Response };
  /** The answer's body, once it has come whole. */
  text?: string;
  status?: string;
}

interface Detail {
  ctx: Context;
}

interface Htmx {
  registerExtension(name: string, extension: { [hook: string]: (element: Element, detail: Detail) => boolean | void }): void;
}

const underWay = new WeakMap<Element, Context>();
/** Requests whose key has served: the next submission is another wish. */
const served = new WeakSet<Context>();
const safe = /^(GET|HEAD|OPTIONS|TRACE|DIALOG)$/i;

/** What an element's wish is called: its draft's name in every tab, else its place on this page in this tab. */
function intentOf(element: Element, action: string): { intent: string; shared: boolean } {
  const draft = element.closest("[data-semel-draft]")?.getAttribute("data-semel-draft");
  if (draft) return { intent: draft, shared: true };
  return { intent: `htmx ${location.pathname} ${element.id || element.getAttribute("name") || ""} ${action}`, shared: false };
}

/** Adds the extension to an htmx. A page whose htmx is global needs no call. */
export function register(htmx: Htmx): void {
  htmx.registerExtension("semel", {
    htmx_config_request(element, { ctx }) {
      if (safe.test(ctx.request.method) || element.closest('[data-semel="off"]')) return;
      if (underWay.has(element)) return false;
      underWay.set(element, ctx);
      ctx.fetch = async (action, request) => {
        const response = await semelFetch(action, request, { ...intentOf(element, ctx.request.action), from: element });
        if ((await verdict(response)).ends) served.add(ctx);
        return response;
      };
      setTimeout(() => {
        // Another request's turn, or nothing to send: it has not begun.
        if (ctx.status !== "issuing" && !ctx.response && underWay.get(element) === ctx) underWay.delete(element);
      });
    },
    htmx_finally_request(element, { ctx }) {
      if (underWay.get(element) !== ctx) return;
      underWay.delete(element);
      const definitive = served.has(ctx) && ctx.text !== undefined;
      const replayed = ctx.response?.raw.headers.get("Idempotent-Replayed") === "true";
      const form = element.closest("form") ?? ctx.request.form;
      form?.dispatchEvent(new CustomEvent("semel:settle", { bubbles: true, detail: { definitive, replayed } }));
    },
  });
}

const { htmx } = globalThis as { htmx?: Htmx };
if (htmx) register(htmx);
