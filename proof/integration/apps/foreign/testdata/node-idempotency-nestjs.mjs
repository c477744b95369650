import "reflect-metadata";
import { Controller, Get, HttpException, Module, Post, Req, UnauthorizedException, UseGuards } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { Idempotent, NodeIdempotencyModule } from "@node-idempotency/nestjs";
import { order, orders } from "./orders.mjs";

class Shop {
  count() {
    return { total: orders.length };
  }
  async order(req) {
    const { status, answer } = await order(req.headers.authorization, req.body);
    if (status !== 201) throw new HttpException(answer, status);
    return answer;
  }
}
class KnownCaller {
  canActivate(context) {
    if (context.switchToHttp().getRequest().headers.authorization) return true;
    throw new UnauthorizedException();
  }
}
class App {}

// What a compiler makes of decorators.
const decorate = (name, ...decorators) => {
  const descriptor = Object.getOwnPropertyDescriptor(Shop.prototype, name);
  for (const one of decorators) one(Shop.prototype, name, descriptor);
};
decorate("count", Get("count"));
decorate("order", Post("orders"), UseGuards(KnownCaller), Idempotent());
Req()(Shop.prototype, "order", 0);
Controller()(Shop);
Module({ controllers: [Shop], imports: [NodeIdempotencyModule.forRootAsync({ storage: { adapter: "memory" } })] })(App);

const app = await NestFactory.create(App, { logger: false });
app.useBodyParser("json", { limit: "4mb" });
await app.listen(Number(process.argv[2]), "127.0.0.1");
