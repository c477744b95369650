import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start } from "./program.ts";

/** A server of the test's own. */
export interface Serving {
  url: string;
  stop(): Promise<void>;
}

/** Serves on a free port. */
export async function serve(listener: RequestListener): Promise<Serving> {
  const server: Server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** Starts `semel gateway` in front of an application, with these routes, on the memory store. */
export async function gateway(upstream: string, routes: string): Promise<Serving> {
  const dir = mkdtempSync(join(tmpdir(), "semel-rules-"));
  writeFileSync(join(dir, "rules.yaml"), `version: 1\nroutes:\n${routes}`);
  const program = await start(process.env.SEMEL_TEST_BIN ?? "semel", [
    "gateway", "--listen", "127.0.0.1:0", "--upstream", upstream, "--rules", join(dir, "rules.yaml"), "--store", "memory:", "--log-level", "error", "--admin", "127.0.0.1:0",
  ]);
  const address = program.addresses.gateway ?? Object.values(program.addresses)[0]!;
  return {
    url: address.startsWith("http") ? address : `http://${address}`,
    stop: async () => {
      await program.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Reads the body of a request as a form. */
export async function formOf(request: AsyncIterable<Buffer>): Promise<URLSearchParams> {
  let body = "";
  for await (const part of request) body += String(part);
  return new URLSearchParams(body);
}
