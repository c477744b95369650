import { useIntent } from "semel/vue";
import { createApp, defineComponent, h } from "vue";

const OrderForm = defineComponent(() => {
  const { progress, send } = useIntent("vue order");
  const submit = (event: Event) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const body = JSON.stringify(Object.fromEntries(new FormData(form)));
    void send("/api/orders", { method: "POST", headers: { "Content-Type": "application/json" }, body }, form);
  };
  const said = (): string => {
    const { busy, response, replayed, state } = progress.value;
    if (busy) return "Saving…";
    if (response?.ok) return `Ordered${replayed ? " (first attempt)" : ""}.`;
    return state === "failed" ? "Not sure yet." : "";
  };
  return () => h("form", { onSubmit: submit, "aria-busy": progress.value.busy }, [
    h("label", ["Customer ", h("input", { name: "customer", required: true })]),
    h("label", ["Note ", h("input", { name: "note" })]),
    h("button", { "aria-disabled": progress.value.busy }, "Place order"),
    h("p", { role: "status" }, said()),
  ]);
});

createApp(OrderForm).mount("#app");
