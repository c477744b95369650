// Sends an invoice as most scripts do: whatever is pressed, as often as it is pressed.
"use strict";

const field = (id) => document.getElementById(id);

field("create").addEventListener("click", async () => {
  const draft = {
    customer_id: Number(field("customer_id").value), amount_cents: Math.round(field("amount").value * 100), currency: "EUR", note: field("note").value,
  };
  field("said").textContent = "Sending…";
  try {
    const answer = await fetch("/api/invoices", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(draft) });
    const made = await answer.json();
    field("said").textContent = answer.ok ? `Invoice ${made.number} created.` : `Not created: ${made.detail}.`;
  } catch {
    field("said").textContent = "No answer. Press again?";
  }
});
