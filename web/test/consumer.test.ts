import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const web = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "semel-consumer-"));
const run = promisify(execFile);

/** What a program that has installed the package looks like. */
const program = `import { newKey, replayed, semelFetch, type SemelInit, SemelError } from "semel";
import { openQueue, type Queue } from "semel/queue";
import { useIntent } from "semel/react";
import { register } from "semel/htmx";

declare const process: { argv: string[]; stdout: { write(text: string): void } };
const patience: SemelInit = { attempts: 3, key: newKey() };
const response: Response = await semelFetch(process.argv[2]!, { method: "POST", body: "amount=12" }, patience);
process.stdout.write(\`\${response.status} \${replayed(response)}\`);
export type Parts = [typeof openQueue, Queue, typeof useIntent, typeof register, SemelError];
`;

const tsc = (resolution: string, ...more: string[]): Promise<unknown> => {
  const options = ["--strict", "--target", "es2022", "--lib", "es2022,dom", "--types", "", "--module", resolution === "bundler" ? "esnext" : resolution];
  return run(join(web, "node_modules/.bin/tsc"), [...options, "--moduleResolution", resolution, ...more], { cwd: folder });
};

beforeAll(() => {
  const npm = (...args: string[]): string => execFileSync("npm", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  const tarball = npm("pack", web, "--silent").trim();
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  writeFileSync(join(folder, "program.ts"), program);
  npm("install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", join(folder, tarball));
}, 120_000); // npm is slow to start on a busy machine

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("installing brings no other package", () => {
  const lock = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")) as { packages: object };
  expect(Object.keys(lock.packages)).toEqual(["", "node_modules/semel"]);
});

test.each(["bundler", "nodenext"])("types resolve for %s, and wrong types are found", async (resolution) => {
  await tsc(resolution, "--noEmit", "program.ts");
  writeFileSync(join(folder, "wrong.ts"), program.replace("attempts: 3", 'attempts: "3"'));
  await expect(tsc(resolution, "--noEmit", "wrong.ts")).rejects.toMatchObject({ stdout: expect.stringContaining("TS2322") });
});

test("Node resolves every entry point", () => {
  const { exports } = JSON.parse(readFileSync(join(web, "package.json"), "utf8")) as { exports: object };
  const names = Object.keys(exports).map((name) => name.replace(".", "semel"));
  writeFileSync(join(folder, "resolve.js"), `for (const name of ${JSON.stringify(names)}) console.log(import.meta.resolve(name));`);
  const found = execFileSync(process.execPath, ["resolve.js"], { cwd: folder, encoding: "utf8" }).trim().split("\n");
  for (const url of found) expect(readFileSync(new URL(url)).length).toBeGreaterThan(0);
  expect(found).toHaveLength(names.length);
});

test("the program sends one key until it has an answer", async () => {
  await tsc("nodenext", "program.ts");
  const keys: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    keys.push(request.headers["idempotency-key"] as string | undefined);
    if (keys.length === 1) return request.socket.destroy();
    response.writeHead(201, { "Idempotency-Status": "replayed" }).end();
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  try {
    const { stdout } = await run(process.execPath, ["program.js", `http://127.0.0.1:${(server.address() as AddressInfo).port}/`], { cwd: folder });
    expect(stdout).toBe("201 true");
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  } finally {
    server.close();
  }
});
