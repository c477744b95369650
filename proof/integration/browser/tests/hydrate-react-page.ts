import { createElement as h, useEffect, useState } from "react";
import { hydrateRoot } from "react-dom/client";

/** A form that the browser sends on its own, and a word that says when React has taken the page over. */
export function Order({ where = "" }) {
  const [by, is] = useState("the server");
  useEffect(() => is("the browser"), []);
  return h("main", null,
    h("h1", null, "New order" + where),
    h("form", { method: "post", action: "/orders" },
      h("label", null, "Item ", h("input", { name: "item", defaultValue: "tea" })),
      h("button", null, "Order")),
    h("output", null, "Drawn by ", by));
}

/** The same as a whole document. */
export function Document() {
  return h("html", { lang: "en" },
    h("head", null, h("title", null, "Order"), h("link", { rel: "icon", href: "data:," })),
    h("body", null, h(Order)));
}

if (typeof document === "object") {
  const root = document.querySelector("#root");
  if (root) hydrateRoot(root, h(Order, { where: root.textContent.includes("at the server") ? " in the browser" : "" })); // else what the server drew is another page
  else hydrateRoot(document, h(Document));
}
