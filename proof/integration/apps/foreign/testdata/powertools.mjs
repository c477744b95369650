import { IdempotencyConfig, makeIdempotent } from "@aws-lambda-powertools/idempotency";
import { CachePersistenceLayer } from "@aws-lambda-powertools/idempotency/cache";
import { createClient } from "@redis/client";
import express from "express";
import { order, orders } from "./orders.mjs";

const client = await createClient({ url: process.env.REDIS }).connect();
const config = new IdempotencyConfig({
  eventKeyJmesPath: "[key, authorization]",
  payloadValidationJmesPath: process.env.VALIDATE, // undefined for none
});
config.registerLambdaContext({ getRemainingTimeInMillis: () => 1000 });
const once = makeIdempotent(
  async ({ authorization, body }) => {
    const done = await order(authorization, body);
    if (done.status >= 500) throw Object.assign(new Error(), { done });
    return done;
  },
  { persistenceStore: new CachePersistenceLayer({ client }), config },
);
const refusals = { IdempotencyValidationError: 422, IdempotencyAlreadyInProgressError: 409 };

const app = express();
app.use(express.json({ limit: "4mb" }));
app.get("/count", (req, res) => res.json({ total: orders.length }));
app.post("/orders", async (req, res) => {
  const asked = { key: req.get("Idempotency-Key"), authorization: req.get("Authorization"), body: req.body };
  const { status, answer } = await (asked.key ? once(asked) : order(asked.authorization, asked.body)).catch(
    (error) => error.done ?? { status: refusals[error.name] ?? 500, answer: { error: error.message } },
  );
  res.status(status).json(answer);
});
app.listen(Number(process.argv[2]), "127.0.0.1");
