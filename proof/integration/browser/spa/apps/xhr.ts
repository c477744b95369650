import { draw, order, orders, type Order } from "./here.ts";

// Sends as uploads do: with progress, and as form data.
draw((signal) => new Promise<Order>((resolve, reject) => {
  const request = new XMLHttpRequest();
  request.open("POST", orders);
  request.responseType = "json";
  request.upload.onprogress = ({ loaded, total }) => void document.body.setAttribute("data-sent", `${loaded}/${total}`);
  request.onload = () => (request.status === 201 ? resolve(request.response as Order) : reject(new Error(request.statusText)));
  request.onerror = request.onabort = reject;
  signal.onabort = () => request.abort();
  const body = new FormData();
  body.append("item", order.item);
  body.append("picture", new File(["cup"], "cup.png", { type: "image/png", lastModified: 1 }));
  request.send(body);
}));
