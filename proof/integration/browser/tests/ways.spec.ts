import { type Page, test as base } from "@playwright/test";
import { go, wishes } from "./cells.ts";
import { tabOf } from "./tab.ts";
import type { Person, Wishes } from "./wishes.ts";

const test = base.extend<{ someone: Person }, { wishes: Wishes }>({
  ...wishes,
  someone: async ({ context }, use) => {
    const own = new Set<Page>();
    await use({
      tab: async () => {
        const page = await context.newPage();
        own.add(page);
        return tabOf(page);
      },
      opened: () => Promise.all(context.pages().filter((page) => !own.has(page)).map(tabOf)),
    });
  },
});

for (const off of [false, true]) {
  test.describe(off ? "no scripts" : "scripts", () => {
    test.use({ javaScriptEnabled: !off, hasTouch: true });
    go(test, "chromium", off);
  });
}
