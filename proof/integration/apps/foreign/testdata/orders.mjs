// The shop that every service of this folder is: a library's middleware goes in front of order().
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const book = "orders.txt"; // which outlives the process
export const orders = existsSync(book) ? readFileSync(book, "utf8").trim().split("\n") : [];

/** Carries an order out: its status and its answer. A request is recognised by its Authorization header. */
export async function order(authorization, body) {
  const owner = { "Bearer ann": "ann", "Bearer bob": "bob" }[authorization];
  if (!owner) return { status: 401, answer: { error: "who are you?" } };
  if (typeof body?.item !== "string") return { status: 422, answer: { error: "which item?" } };
  await pause(30); // the work
  if (body.item.startsWith("cursed")) return { status: 500, answer: { error: "out of order" } };
  const one = { id: orders.length + 1, owner, item: body.item };
  orders.push(one.item);
  appendFileSync(book, `${one.item}\n`);
  return { status: 201, answer: one };
}
