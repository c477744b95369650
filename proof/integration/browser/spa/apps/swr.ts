import { createElement as h } from "react";
import { createRoot } from "react-dom/client";
import useSWRMutation from "swr/mutation";
import { order, orders, show, type Order } from "./here.ts";

let abort = new AbortController();

async function create(url: string): Promise<Order> {
  abort = new AbortController();
  const answer = await fetch(url, { method: "POST", body: JSON.stringify(order), headers: { "Content-Type": "application/json" }, signal: abort.signal });
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.json();
}

function Page() {
  const { trigger } = useSWRMutation(orders, create);
  return [
    h("button", { key: 1, onClick: () => void show(trigger().then(({ id }) => id)) }, "Create"), h("button", { key: 2, onClick: () => abort.abort() }, "Stop"),
    h("ol", { key: 3 }),
  ];
}

createRoot(document.body).render(h(Page));
