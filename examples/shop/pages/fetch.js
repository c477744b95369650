import { replayed, semelFetch, SemelError } from "/semel/semel.js";

const form = document.querySelector("#order");
const answer = document.querySelector("#answer");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  answer.textContent = "Saving…";
  const init = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(Object.fromEntries(new FormData(form))),
  };
  try {
    const response = await semelFetch("/api/orders", init, {
      intent: "new order", from: form,
      onState: (state) => {
        if (state.name === "offline") answer.textContent = "You are offline. We will send this when you are back online.";
      },
    });
    const order = await response.json();
    answer.textContent = response.ok ? `Order ${order.number} is placed${replayed(response) ? " (first attempt)" : ""}.` : order.error;
  } catch (error) {
    if (!(error instanceof SemelError)) throw error;
    answer.textContent = `Not sure yet (${error.kind}). You can safely send it again.`;
  }
});
