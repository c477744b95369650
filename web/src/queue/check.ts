import { quoteKey } from "../key.js";
import { QueueError } from "./entry.js";
import type { Intent } from "./queue.js";

const members: { [name in keyof Required<Intent>]: "string" | "any" } = {
  method: "string", headers: "any", body: "any", credentials: "string", group: "string", after: "string", fill: "any", label: "string", keyField: "string",
};

/** @throws QueueError unless the value is a string that names something. */
export function name(what: string, value: unknown): void {
  if (typeof value !== "string" || value === "") throw new QueueError("invalid", `${what} is ${String(value)}: give a string, such as the id of an entry`);
}

/** @throws QueueError for an intent with members of another kind or name: what they hold would not be sent. */
export function checkIntent(intent: Intent): void {
  if (typeof intent !== "object" || intent === null) throw new QueueError("invalid", `the intent is ${String(intent)}: give { body: … }`);
  for (const [member, value] of Object.entries(intent)) {
    const kind = Object.hasOwn(members, member) ? members[member as keyof Intent] : undefined;
    if (kind === undefined) throw new QueueError("invalid", `an intent has no ${member}: what to send is its body`);
    if (kind === "string" && value !== undefined && typeof value !== "string") throw new QueueError("invalid", `${member} is ${String(value)}: give a string`);
  }
}

/** @throws QueueError for a request that no browser sends: it would be tried for ever. */
export function checkRequest(address: string, init: RequestInit, key: string): void {
  try {
    if (!/^https?:/.test(address)) throw new TypeError("it is not http");
    if (/^(GET|HEAD)$/i.test(init.method ?? "")) throw new TypeError(`${init.method} changes nothing`);
    new Request(address, init);
    quoteKey(key);
  } catch (error) {
    throw new QueueError("invalid", `${address} cannot be sent: ${(error as Error).message}`, { cause: error });
  }
}
