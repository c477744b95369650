import { type Shop, senders } from "./page-guard.ts";
import { expect } from "@playwright/test";

// The core of the page guard, for browsers that other tools drive.

/** A person with a browser. */
export interface Person {
  visit(url: string): Promise<void>;
  /** Presses the button, or double-clicks it. */
  press(times?: 1 | 2): Promise<void>;
  /** Goes back to the page before. */
  back(): Promise<void>;
  /** The answers that the page shows, as JSON. */
  answers(): Promise<string>;
}

/** Each case drives the person, and expects so many orders after it. */
export const cases: Record<string, (person: Person, shop: Shop) => Promise<number>> = {
  "a double click": async (person) => {
    await person.press(2);
    await shown(person, [1, 1]);
    return 1;
  },
  "a lost answer, and another press": async (person, shop) => {
    shop.lost = 1;
    await person.press();
    await shown(person, ["lost"]);
    await person.press();
    await shown(person, ["lost", 1]);
    return 1;
  },
  "a page that is loaded anew while it sends": async (person, shop) => {
    await person.press();
    await expect.poll(() => shop.keys.length).toBe(1);
    await person.visit(shop.url);
    await person.press();
    await shown(person, [1]);
    return 1;
  },
  "a page that is left while it sends, and gone back to": async (person, shop) => {
    await person.press();
    await expect.poll(() => shop.keys.length).toBe(1);
    await person.visit(`${shop.url}/bare`);
    await person.back();
    await person.press();
    await expect.poll(() => person.answers()).toContain("1");
    return 1;
  },
  "two wishes with the same content": async (person) => {
    await person.press();
    await shown(person, [1]);
    await person.press();
    await shown(person, [1, 2]);
    return 2;
  },
};

/** Lets the shop's page send an order by its button. */
export function furnish(shop: Shop, sender: keyof typeof senders): void {
  shop.headers = { "Cache-Control": "no-cache" }; // kept by browsers that keep pages
  shop.after = `<script>
    const send = ${senders[sender]};
    const answers = [];
    onload = () => {
      document.querySelector("button").onclick = () => send("/api/orders?delay=300", '{"item":"tea"}').then((text) => answers.push(JSON.parse(text).order), () => answers.push("lost"));
      document.body.id = "ready";
    };
  </script>`;
}

async function shown(person: Person, want: unknown[]): Promise<void> {
  await expect.poll(() => person.answers()).toBe(JSON.stringify(want));
}
