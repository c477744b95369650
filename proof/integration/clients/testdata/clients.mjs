// node clients.mjs CLIENT URL KEY… posts an order for each key with a client that may retry, ten at a time, and prints for each what
// the program around it learns: {"status", "body"} of an answer, or {"error"}.
import { createRequire } from "node:module";

const require = createRequire(process.env.CLIENT_MODULES + "/package.json");
const load = async (name) => await import(require.resolve(name));
const [client, url, ...keys] = process.argv.slice(2);
const body = JSON.stringify({ amount: 100, currency: "usd" });

const clients = {
  async "axios-retry"(key, headers) {
    const axios = require("axios");
    const { default: axiosRetry, isNetworkError, isRetryableError } = require("axios-retry");
    const api = axios.create();
    axiosRetry(api, { retries: 3, retryCondition: (e) => isNetworkError(e) || isRetryableError(e) });
    const answer = await api.post(url, body, { headers, transformResponse: (text) => text });
    return { status: answer.status, body: answer.data };
  },
  async got(key, headers) {
    const { got } = await load("got");
    const answer = await got.post(url, { headers, body, retry: { limit: 3, methods: ["POST"] } });
    return { status: answer.statusCode, body: answer.body };
  },
  async ky(key, headers) {
    const { default: ky } = await load("ky");
    const answer = await ky.post(url, { headers, body, retry: { limit: 3, methods: ["post"] } });
    return { status: answer.status, body: await answer.text() };
  },
  async "p-retry"(key, headers) {
    const { default: retry } = await load("p-retry");
    return await retry(
      async () => {
        const answer = await fetch(url, { method: "POST", headers, body });
        const text = await answer.text();
        if (answer.status >= 500) throw new Error(`status ${answer.status}`);
        return { status: answer.status, body: text };
      },
      { retries: 3, minTimeout: 200 },
    );
  },
  async undici(key, headers) {
    const { Agent, RetryAgent, request } = require("undici");
    const dispatcher = new RetryAgent(new Agent(), { maxRetries: 3, methods: ["POST"] });
    const answer = await request(url, { method: "POST", headers, body, dispatcher });
    return { status: answer.statusCode, body: await answer.body.text() };
  },
  async "stripe-node"(key, headers) {
    const { default: Stripe } = await load("stripe");
    const { hostname, port } = new URL(url);
    const stripe = new Stripe("sk_test_x", { host: hostname, port, protocol: "http", maxNetworkRetries: 3, telemetry: false });
    const charge = await stripe.charges.create({ amount: 100, currency: "usd" }, { idempotencyKey: key });
    return { status: charge.lastResponse.statusCode, body: JSON.stringify(charge) };
  },
};

async function post(key) {
  try {
    return await clients[client](key, { "Idempotency-Key": key, "Content-Type": "application/json" });
  } catch (error) {
    return { error: `${error.type ?? error.name}: ${error.message}`, status: error.statusCode ?? error.response?.status };
  }
}

const told = [];
let next = 0;
await Promise.all(
  Array.from({ length: 10 }, async () => {
    while (next < keys.length) {
      const i = next++;
      told[i] = await post(keys[i]);
    }
  }),
);
process.stdout.write(JSON.stringify(told), () => process.exit()); // stripe-node keeps connections whose answers it did not read
