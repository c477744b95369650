import express from "express";
import { getSharedIdempotencyService, idempotency } from "express-idempotency";
import { order, orders } from "./orders.mjs";

const app = express();
app.use(express.json({ limit: "4mb" }));
app.get("/count", (req, res) => res.json({ total: orders.length }));
app.post("/orders", idempotency(), async (req, res) => {
  if (getSharedIdempotencyService().isHit(req)) return;
  const { status, answer } = await order(req.get("Authorization"), req.body);
  if (status === 201) res.location(`/orders/${answer.id}`);
  res.status(status).json(answer);
});
app.listen(Number(process.argv[2]), "127.0.0.1");
