import { Idempotency, IdempotencyError, IdempotencyErrorCodes } from "@node-idempotency/core";
import { MemoryStorageAdapter } from "@node-idempotency/storage-adapter-memory";
import express from "express";
import { order, orders } from "./orders.mjs";

const idempotency = new Idempotency(new MemoryStorageAdapter());
const statuses = {
  [IdempotencyErrorCodes.REQUEST_IN_PROGRESS]: 409,
  [IdempotencyErrorCodes.IDEMPOTENCY_FINGERPRINT_MISSMATCH]: 422,
  [IdempotencyErrorCodes.IDEMPOTENCY_KEY_LEN_EXEEDED]: 400,
};

const app = express();
app.use(express.json({ limit: "4mb" }));
app.get("/count", (req, res) => res.json({ total: orders.length }));
app.post("/orders", async (req, res) => {
  const asked = { headers: req.headers, path: req.path, body: req.body, method: req.method };
  try {
    const before = await idempotency.onRequest(asked);
    if (before) return res.status(before.additional.status).json(before.body);
  } catch (error) {
    if (!(error instanceof IdempotencyError)) throw error;
    return res.status(statuses[error.code]).json({ error: error.message });
  }
  const { status, answer } = await order(req.get("Authorization"), req.body);
  await idempotency.onResponse(asked, { body: answer, additional: { status } });
  res.status(status).json(answer);
});
app.listen(Number(process.argv[2]), "127.0.0.1");
