import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const manifest = JSON.parse(readFileSync(root + "package.json", "utf8")) as {
  exports: Record<string, string | { types: string; default: string }>;
  dependencies?: object;
  peerDependencies: Record<string, string>;
  peerDependenciesMeta: Record<string, { optional: boolean }>;
  sideEffects: string[];
};

test.each([["guard.js", 8], ["semel.js", 7.2], ["page.js", 6000 / 1024]])("%s is at most %f KiB on the wire", (name, most) => {
  expect(gzipSync(readFileSync(`${root}dist/${name}`), { level: 9 }).length).toBeLessThanOrEqual(most * 1024); // half a KiB of it: texts for people, in four languages, and a third the names of fields to leave out
});

test("every entry point and its types are there", () => {
  for (const entry of Object.values(manifest.exports)) {
    for (const file of typeof entry === "string" ? [entry] : Object.values(entry)) expect(existsSync(root + file), file).toBe(true);
  }
  for (const file of manifest.sideEffects) expect(existsSync(root + file), file).toBe(true);
});

test("nothing is needed at run time, and frameworks are optional", () => {
  expect(manifest.dependencies).toBeUndefined();
  for (const name of Object.keys(manifest.peerDependencies)) expect(manifest.peerDependenciesMeta[name]).toEqual({ optional: true });
});

test("the package holds what is built and nothing else", () => {
  const out = execFileSync("npm", ["pack", "--dry-run", "--json"], { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  const parsed = JSON.parse(out) as { files: { path: string }[] }[] | Record<string, { files: { path: string }[] }>;
  const files = Object.values(parsed)[0]!.files.map((file) => file.path);
  const scripts = readdirSync(root + "dist").filter((name) => name.endsWith(".js")).map((name) => `dist/${name}`);
  for (const file of ["LICENSE", "README.md", "package.json", "dist/types/semel.d.ts", ...scripts]) expect(files).toContain(file);
  expect(files.filter((file) => !/^(LICENSE|README\.md|package\.json|dist\/[\w.-]+\.js|dist\/types\/[\w./-]+\.d\.ts)$/.test(file))).toEqual([]);
}, 60_000); // npm is slow to start on a busy machine

test("a server can load it, too", () => {
  const program = 'import("./dist/semel.js").then(({ newKey }) => process.stdout.write(String(newKey().length)))';
  expect(execFileSync(process.execPath, ["-e", program], { cwd: root, encoding: "utf8" })).toBe("36");
});
