import { DBOS } from "@dbos-inc/dbos-sdk";
import express from "express";
import { order, orders } from "./orders.mjs";

const place = DBOS.registerWorkflow(
  async (authorization, body) => DBOS.runStep(() => order(authorization, body), { name: "order" }),
  { name: "place" },
);
DBOS.setConfig({ name: "shop", systemDatabaseUrl: process.env.POSTGRES, logLevel: "error" });
await DBOS.launch();

const app = express();
app.use(express.json({ limit: "4mb" }));
app.get("/count", (req, res) => res.json({ total: orders.length }));
app.post("/orders", async (req, res) => {
  const handle = await DBOS.startWorkflow(place, { workflowID: req.get("Idempotency-Key") })(req.get("Authorization"), req.body);
  const { status, answer } = await handle.getResult();
  res.status(status).json(answer);
});
app.listen(Number(process.argv[2]), "127.0.0.1");
