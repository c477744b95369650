import { createApp, h, ref } from "vue";
import { order, orders, show, type Order } from "./here.ts";

createApp({
  setup() {
    const busy = ref(0);
    let abort = new AbortController();
    const create = async () => {
      busy.value++;
      abort = new AbortController();
      const answer = await fetch(new Request(orders, { method: "POST", body: JSON.stringify(order), signal: abort.signal })).finally(() => busy.value--);
      if (!answer.ok) throw new Error(answer.statusText);
      return ((await answer.json()) as Order).id;
    };
    return () => [
      h("button", { onClick: () => void show(create()) }, "Create"), h("button", { onClick: () => abort.abort() }, "Stop"), h("output", busy.value), h("ol"),
    ];
  },
}).mount(document.body);
