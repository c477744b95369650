// An order and its line, kept until both have arrived. Everything that could
// go wrong in between is the queue's to deal with.
import { defineQueueStatus, openQueue } from "/semel/queue.js";

document.documentElement.lang = new URLSearchParams(location.search).get("lang") ?? "en";

const queue = openQueue();
defineQueueStatus(queue);
navigator.serviceWorker?.register("/worker.js");
globalThis.queue = queue; // for the console

const form = document.querySelector("#order");
const kept = document.querySelector("#kept");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { customer, item } = Object.fromEntries(new FormData(form));
  try {
    const order = await queue.add("/api/orders", { body: { customer }, label: `Order for ${customer}` });
    if (item) {
      await queue.add("/api/orders/{order}/lines", {
        body: { item }, label: `${item} for ${customer}`, after: order.id, fill: { "{order}": "/id" },
      });
    }
    form.reset();
    kept.textContent = `Kept: the order for ${customer}.`;
  } catch (error) {
    kept.textContent = `Not kept: ${error.message}`;
  }
});
