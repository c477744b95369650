import { QueryClient, QueryClientProvider, useMutation } from "@tanstack/react-query";
import { createElement as h } from "react";
import { createRoot } from "react-dom/client";
import { order, orders, show, type Order } from "./here.ts";

let abort = new AbortController();

// The library repeats up to three times.
function Page() {
  const { mutateAsync } = useMutation({
    mutationFn: async (): Promise<Order> => {
      const answer = await fetch(orders, { method: "POST", body: JSON.stringify(order), headers: { "Content-Type": "application/json" }, signal: abort.signal });
      if (!answer.ok) throw new Error(answer.statusText);
      return answer.json();
    },
    retry: (count) => count < 3 && !abort.signal.aborted, retryDelay: 50, networkMode: "always",
  });
  const create = () => {
    abort = new AbortController();
    void show(mutateAsync().then(({ id }) => id));
  };
  return [h("button", { key: 1, onClick: create }, "Create"), h("button", { key: 2, onClick: () => abort.abort() }, "Stop"), h("ol", { key: 3 })];
}

createRoot(document.body).render(h(QueryClientProvider, { client: new QueryClient() }, h(Page)));
