import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

// Builds semel once for all tests, unless SEMEL_BIN names one that was built.
// What it returns is run after the last test.
export default function build(): (() => void) | undefined {
  if (process.env.SEMEL_BIN) return undefined;
  const dir = mkdtempSync(join(tmpdir(), "semel-browser-"));
  process.env.SEMEL_BIN = join(dir, "semel");
  const root = resolve(import.meta.dirname, "../../..");
  execFileSync("go", ["build", "-o", process.env.SEMEL_BIN, "./cmd/semel"], { cwd: root, stdio: "inherit" });
  return () => rmSync(dir, { recursive: true, force: true });
}
