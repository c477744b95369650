import express from "express";
import idempotency from "idempotency-backend/express";
import { order, orders } from "./orders.mjs";

const app = express();
app.get("/count", (req, res) => res.json({ total: orders.length }));
app.use(idempotency);
app.use(express.json({ limit: "4mb" }));
app.post("/orders", async (req, res) => {
  const { status, answer } = await order(req.get("Authorization"), req.body);
  if (status === 201) await req.idempotencySession.SaveResponse(answer);
  res.status(status).json(answer);
});
app.listen(Number(process.argv[2]), "127.0.0.1");
