import { createSSRApp, h, onMounted, ref } from "vue";

/** The form of hydrate-react-page.ts, as Vue draws it. */
export const Order = {
  setup() {
    const by = ref("the server");
    onMounted(() => (by.value = "the browser"));
    return () => h("main", [
      h("h1", "New order"),
      h("form", { method: "post", action: "/orders" }, [h("label", ["Item ", h("input", { name: "item", value: "tea" })]), h("button", "Order")]),
      h("output", ["Drawn by ", by.value]),
    ]);
  },
};

if (typeof document === "object") createSSRApp(Order).mount("#root");
