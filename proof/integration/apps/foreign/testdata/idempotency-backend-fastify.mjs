import Fastify from "fastify";
import idempotency from "idempotency-backend/fastify";
import { order, orders } from "./orders.mjs";

const app = Fastify({ bodyLimit: 4 << 20 });
app.addHook("onRequest", async (request, reply) => {
  if (request.method !== "GET") await idempotency(request, reply);
});
app.get("/count", async () => ({ total: orders.length }));
app.post("/orders", async (request, reply) => {
  const { status, answer } = await order(request.headers.authorization, request.body);
  if (status === 201) await request.idempotencySession.SaveResponse(answer);
  return reply.status(status).send(answer);
});
await app.listen({ port: Number(process.argv[2]), host: "127.0.0.1" });
