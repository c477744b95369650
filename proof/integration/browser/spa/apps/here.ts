// What each application here does: a person presses Create, it creates an order with its own library, and shows what came of it. None knows Semel.

/** An order as the server shows it. */
export interface Order {
  id: string;
}

/** Where orders are created; the test finds its own by the query. */
export const orders = `/api/orders${location.search}`;
/** The order that every press sends. */
export const order = { item: "tea", count: 2, note: { to: "Åsa", gift: true } };

/** Draws the page and has these run by its buttons. What they return, or throw, is shown. */
export function draw(create: (signal: AbortSignal) => Promise<Order>, list?: () => Promise<number>): void {
  document.body.innerHTML = `<button>Create</button> <button>Stop</button> <button>List</button><ol></ol>`;
  const [first, second, third] = document.querySelectorAll("button");
  let abort = new AbortController();
  first!.onclick = () => void show(create((abort = new AbortController()).signal).then(({ id }) => id));
  second!.onclick = () => abort.abort();
  third!.onclick = () => void show(list!().then((count) => `${count} orders`));
}

/** Shows an outcome as an item of the list. */
export async function show(outcome: Promise<string>): Promise<void> {
  const text = await outcome.catch(() => "failed");
  document.querySelector("ol")!.append(Object.assign(document.createElement("li"), { textContent: text }));
}
