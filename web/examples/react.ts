import { createElement as h, StrictMode, type SubmitEvent } from "react";
import { createRoot } from "react-dom/client";
import { useIntent } from "semel/react";

function OrderForm() {
  const { send, busy, state, response, replayed } = useIntent("react order");
  const onSubmit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const body = JSON.stringify(Object.fromEntries(new FormData(event.currentTarget)));
    void send("/api/orders", { method: "POST", headers: { "Content-Type": "application/json" }, body }, event.currentTarget);
  };
  const said = busy ? "Saving…" : response?.ok ? `Ordered${replayed ? " (first attempt)" : ""}.` : state === "failed" ? "Not sure yet." : "";
  return h("form", { onSubmit, "aria-busy": busy },
    h("label", null, "Customer ", h("input", { name: "customer", required: true })),
    h("label", null, "Note ", h("input", { name: "note" })),
    h("button", { "aria-disabled": busy }, "Place order"),
    h("p", { role: "status" }, said));
}

createRoot(document.querySelector("#app")!).render(h(StrictMode, null, h(OrderForm)));
