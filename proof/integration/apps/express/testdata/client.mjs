import { semelFetch } from "semel";

const response = await semelFetch(process.argv[2] + "/orders", {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ item: "a book" }),
});
console.log(response.status, await response.text());
