import { submitters } from "./target.js";

const hidden = "position:absolute;left:0;top:0;pointer-events:none;z-index:1;";
const shown = "background:Canvas;color:CanvasText;padding:2px 8px;border-radius:4px;white-space:nowrap";

/** What a person sees and hears of a submission that is under way. */
export class Notice {
  private readonly marked_: [element: Element, name: string, before: string | null][] = [];
  private readonly dimmed_: [button: HTMLElement, before: string][] = [];
  private readonly status_: HTMLElement;

  /** Puts an empty live region into the form, so that a text in it will be announced. Nothing moves. */
  constructor(private readonly form: HTMLFormElement) {
    const status = document.createElement("span");
    status.className = "semel-status";
    status.setAttribute("role", "status");
    // Through the object model, so that a policy against inline styles does not stop it.
    status.style.cssText = hidden;
    form.append(status);
    this.status_ = status;
  }

  /** Marks the form as busy and shows the text next to the buttons. Keeps focus, sizes and values as they are. */
  show(text: string, language: string, near: HTMLElement | null): void {
    if (!this.status_.isConnected) this.form.append(this.status_); // a swap may have taken it away
    this.mark_(this.form, "aria-busy");
    const buttons = submitters(this.form);
    for (const button of buttons) {
      this.mark_(button, "aria-disabled");
      this.dimmed_.push([button, button.style.cssText]);
      button.style.cssText += ";opacity:.6;cursor:default";
    }
    const status = this.status_;
    status.textContent = text;
    if (language) status.lang = language;
    status.style.cssText = hidden + shown;
    const anchor = near ?? buttons.find((button) => button.offsetParent);
    if (anchor) place(status, anchor, [...buttons, ...this.form.querySelectorAll<HTMLElement>("a,input,select,textarea")]);
  }

  hide(): void {
    for (const [element, name, before] of this.marked_.splice(0)) {
      if (before === null) element.removeAttribute(name);
      else element.setAttribute(name, before);
    }
    for (const [button, before] of this.dimmed_.splice(0)) button.style.cssText = before;
    this.status_.textContent = "";
    this.status_.style.cssText = hidden;
  }

  mark_(element: Element, name: string): void {
    this.marked_.push([element, name, element.getAttribute(name)]);
    element.setAttribute(name, "true");
  }
}

/** Moves the status to the right of everything in the anchor's row, or below the row if that does not fit. */
function place(status: HTMLElement, anchor: HTMLElement, others: readonly HTMLElement[]): void {
  const at = anchor.getBoundingClientRect();
  const row = others.map((other) => other.getBoundingClientRect()).filter((box) => box.top < at.bottom && box.bottom > at.top);
  const right = Math.max(at.right, ...row.map((box) => box.right));
  const own = status.getBoundingClientRect();
  const beside = right + 8 + own.width <= document.documentElement.clientWidth;
  const x = beside ? right + 8 : Math.max(0, at.left);
  const y = beside ? at.top + (at.height - own.height) / 2 : Math.max(at.bottom, ...row.map((box) => box.bottom)) + 4;
  status.style.left = `${x - own.left}px`;
  status.style.top = `${y - own.top}px`;
}

/** Shows a text at the top of the page, as the gateway does, unless the page has such a text already. */
export function announce(text: string, language: string): void {
  if (document.querySelector(".semel-notice")) return;
  const notice = document.createElement("p");
  notice.className = "semel-notice";
  notice.setAttribute("role", "status");
  notice.dir = "auto";
  if (language) notice.lang = language;
  document.body.prepend(notice);
  notice.textContent = text; // after it is in the page: a live region announces changes
}
