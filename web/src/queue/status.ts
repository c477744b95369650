import { languageOf } from "../texts.js";
import type { QueueError } from "./entry.js";
import type { Item, Queue } from "./queue.js";
import { counted, queueTextsFor, type QueueTexts } from "./texts.js";

export interface StatusOptions {
  /** Texts that replace those of the language. */
  texts?: Partial<QueueTexts>;
}

const styles = `
:host { display: block; font: inherit; }
p, ul, h2 { margin: 0 0 0.5em; }
li p:empty { margin: 0; }
h2 { font-size: 1.1em; }
ul { padding: 0; list-style: none; }
li { margin: 0 0 0.5em; padding: 0.75em; border: 1px solid GrayText; border-inline-start: 4px solid CanvasText; color: CanvasText; background: Canvas; overflow-wrap: anywhere; }
li p { margin: 0.25em 0; }
li strong { display: block; }
button { margin: 0.25em 0.5em 0 0; padding: 0.5em 0.75em; min-height: 2.75em; font: inherit; color: CanvasText; background: Canvas; border: 1px solid CanvasText; border-radius: 4px; cursor: pointer; }
button:focus-visible, h2:focus-visible { outline: 3px solid Highlight; outline-offset: 2px; }
[hidden] { display: none; }
`;

/**
 * Defines <semel-queue-status>, which tells what waits to be sent and lets the
 * person decide about what was set aside. It has a style of its own and runs
 * under a policy against inline styles. Only the first call for a name counts.
 */
export function defineQueueStatus(queue: Queue, options: StatusOptions = {}, name = "semel-queue-status"): void {
  if (customElements.get(name)) return;
  customElements.define(name, class extends HTMLElement {
    #view: View | undefined;
    connectedCallback(): void {
      this.#view = new View(this, queue, options);
    }
    disconnectedCallback(): void {
      this.#view?.end();
    }
  });
}

/** One shown status. What did not change is left alone, so that focus and screen readers stay where they are. */
class View {
  readonly #root: ShadowRoot;
  readonly #status = make("p", { role: "status" });
  readonly #section = make("section", { "aria-labelledby": "title" });
  readonly #title = make("h2", { id: "title", tabindex: "-1" });
  readonly #list = make("ul", { role: "list" });
  readonly #cards = new Map<string, Card>();
  readonly #unsubscribe: () => void;
  #shown = 0;
  #ended = false;

  constructor(private readonly host: HTMLElement, private readonly queue: Queue, private readonly options: StatusOptions) {
    this.#root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(styles);
    this.#root.adoptedStyleSheets = [sheet];
    this.#section.hidden = true;
    this.#section.append(this.#title, this.#list);
    this.#root.replaceChildren(this.#status, this.#section);
    this.#unsubscribe = queue.subscribe(() => void this.#show());
    void this.#show();
  }

  end(): void {
    this.#ended = true;
    this.#unsubscribe();
  }

  async #show(): Promise<void> {
    const turn = ++this.#shown;
    let lost: QueueError | undefined;
    const items = await this.queue.list().catch((error: QueueError): Item[] => {
      lost = error;
      return [];
    });
    if (turn !== this.#shown || this.#ended) return; // a later look has more to say
    const { texts: known, language } = queueTextsFor(languageOf(this.host));
    const texts = { ...known, ...this.options.texts };
    this.#root.host.setAttribute("data-language", language);
    for (const element of [this.#status, this.#section]) element.lang = language;
    const failure = lost && texts.trouble[lost.code];
    if (failure) return say(this.#status, failure); // what could not be read may still wait: show nothing else
    const aside = items.filter(({ state }) => state === "set-aside");
    const waiting = items.filter(({ state }) => state === "waiting" || state === "sending");
    say(this.#status, this.#summary(items, waiting, aside, texts, language));
    say(this.#title, texts.asideTitle);
    this.#showAside(aside, texts);
  }

  #summary(items: Item[], waiting: Item[], aside: Item[], texts: QueueTexts, language: string): string {
    const { trouble } = this.queue;
    const parts = [];
    if (trouble) parts.push(texts.trouble[trouble.code] ?? "");
    if (waiting.length > 0) parts.push(counted(texts.waiting, waiting.length, language));
    if (waiting.some(({ reason }) => reason?.word === "sign-in")) parts.push(texts.signIn);
    else if (waiting.length > 0 && !navigator.onLine) parts.push(texts.offline);
    if (aside.length > 0) parts.push(counted(texts.aside, aside.length, language));
    if (parts.length === 0 && items.length > 0) parts.push(texts.empty);
    else if (parts.length === 0 && this.#status.textContent !== "") parts.push(texts.nothing);
    return parts.filter(Boolean).join(language === "zh" ? "" : " ");
  }

  #showAside(aside: readonly Item[], texts: QueueTexts): void {
    const focused = this.#root.activeElement;
    const gone = new Set(this.#cards.keys());
    for (const item of aside) {
      gone.delete(item.id);
      const card = this.#cards.get(item.id) ?? new Card(this.queue, item.id);
      card.show(item, texts);
      if (!this.#cards.has(item.id)) this.#list.append(card.element);
      this.#cards.set(item.id, card);
    }
    const lost = [...gone].some((id) => this.#cards.get(id)?.element.contains(focused));
    for (const id of gone) {
      this.#cards.get(id)?.element.remove();
      this.#cards.delete(id);
    }
    this.#section.hidden = aside.length === 0;
    if (!lost) return;
    // The button that had the focus is gone: go on nearby instead of at the top of the page.
    if (aside.length > 0) this.#title.focus();
    else {
      this.#status.tabIndex = -1;
      this.#status.focus();
    }
  }
}

/** One entry that was set aside, with what can be done about it. */
class Card {
  readonly element = make("li", {});
  readonly #label = make("strong", { id: `label-${++cards}` });
  readonly #why = make("p", {});
  readonly #said = make("p", {});
  readonly #question = make("p", { role: "alert" });
  readonly #retry: HTMLButtonElement;
  readonly #discard: HTMLButtonElement;
  readonly #really: HTMLButtonElement;
  readonly #keep: HTMLButtonElement;
  #texts: QueueTexts | undefined;

  constructor(queue: Queue, id: string) {
    const about = { "aria-describedby": this.#label.id, type: "button" };
    this.#retry = make("button", about);
    this.#discard = make("button", about);
    this.#really = make("button", about);
    this.#keep = make("button", about);
    this.element.append(this.#label, this.#why, this.#said, this.#question, this.#retry, this.#discard, this.#really, this.#keep);
    // What another tab decided meanwhile counts; the list shows it.
    this.#retry.onclick = () => void queue.retry(id).catch(() => undefined);
    this.#really.onclick = () => void queue.discard(id).catch(() => undefined);
    this.#discard.onclick = () => this.#ask(true);
    this.#keep.onclick = () => this.#ask(false);
    this.element.onkeydown = (event) => {
      if (event.key === "Escape" && !this.#keep.hidden) this.#ask(false);
    };
    this.#choose(false);
  }

  show(item: Item, texts: QueueTexts): void {
    this.#texts = texts;
    const { reason } = item;
    say(this.#label, item.label);
    say(this.#why, texts.reasons[reason?.word ?? "rejected"] ?? texts.reasons.rejected ?? "");
    say(this.#said, reason?.detail ? texts.said.replace("{said}", () => reason.detail!) : "");
    say(this.#retry, texts.retry);
    say(this.#discard, texts.discard);
    say(this.#really, texts.reallyDiscard);
    say(this.#keep, texts.keep);
    const orphan = reason?.word === "parent-discarded" || reason?.word === "parent-answer";
    if (orphan) this.#retry.hidden = true; // it lacks what it needs
  }

  #ask(discard: boolean): void {
    this.#choose(discard);
    say(this.#question, discard ? this.#texts?.confirm ?? "" : "");
    (discard ? this.#keep : this.#discard).focus(); // not on what destroys
  }

  #choose(asking: boolean): void {
    for (const button of [this.#discard]) button.hidden = asking;
    for (const button of [this.#really, this.#keep]) button.hidden = !asking;
  }
}

let cards = 0;

function make<Name extends keyof HTMLElementTagNameMap>(name: Name, attributes: Record<string, string>): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  return element;
}

/** Writes a text only when it is another one: a live region repeats what is written again. */
function say(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
