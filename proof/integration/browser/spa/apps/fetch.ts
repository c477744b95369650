import { draw, order, orders } from "./here.ts";

draw(async (signal) => {
  const answer = await fetch(orders, { method: "POST", body: JSON.stringify(order), headers: { "Content-Type": "application/json" }, signal });
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.json();
});
