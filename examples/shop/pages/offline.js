// An order and its line, kept until both have arrived. Everything that could
// go wrong in between is the queue's to deal with.
import { defineQueueStatus, openQueue, refusalText } from "/semel/queue.js";

document.documentElement.lang = new URLSearchParams(location.search).get("lang") ?? "en";

const queue = openQueue();
defineQueueStatus(queue);
globalThis.queue = queue; // for the console

const form = document.querySelector("#order");
const kept = document.querySelector("#kept");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { customer, item } = Object.fromEntries(new FormData(form));
  const said = [];
  try {
    const order = await queue.add("/api/orders", { body: { customer }, label: `Order for ${customer}` });
    said.push(`Kept: the order for ${customer}.`);
    form.reset(); // pressed again, it would be another order
    if (item) {
      await queue.add("/api/orders/{order}/lines", {
        body: { item }, label: `${item} for ${customer}`, after: order.id, fill: { "{order}": "/id" },
      });
    }
  } catch (error) {
    if (said.length) said.push(`${item}:`); // the order itself is kept
    said.push(refusalText(error, document.documentElement.lang));
  }
  kept.textContent = said.join(" ");
});

// Without a worker the page itself loads from the network only, and the queue is sent while a page is open.
try {
  await navigator.serviceWorker?.register("/worker.js");
} catch {
  // private windows, and browsers that may keep nothing, refuse
}
