import { createRequire } from "node:module";
import express from "express";
import { getSharedIdempotencyService, idempotency } from "express-idempotency";
import { order, orders } from "./orders.mjs";

const RedisAdapter = createRequire(import.meta.url)("express-idempotency-redis-adapter").default;
const dataAdapter = new RedisAdapter({ connectionConfig: { url: process.env.REDIS } });
await dataAdapter.connect();

const app = express();
app.use(express.json({ limit: "4mb" }));
app.get("/count", (req, res) => res.json({ total: orders.length }));
app.use(idempotency({ dataAdapter }));
app.post("/orders", async (req, res) => {
  if (getSharedIdempotencyService().isHit(req)) return;
  const { status, answer } = await order(req.get("Authorization"), req.body);
  res.status(status).json(answer);
});
app.listen(Number(process.argv[2]), "127.0.0.1");
