import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const programs = { SEMEL_BIN: "cmd/semel", SEMEL_SHOP: "examples/shop/cmd/shop" };

// Builds semel and the example shop once for all tests, unless SEMEL_BIN and SEMEL_SHOP name what was built.
// What it returns is run after the last test.
export default function build(): () => void {
  const dir = mkdtempSync(join(tmpdir(), "semel-browser-"));
  const root = resolve(import.meta.dirname, "../../..");
  for (const [variable, source] of Object.entries(programs)) {
    if (process.env[variable]) continue;
    process.env[variable] = join(dir, variable.toLowerCase());
    execFileSync("go", ["build", "-o", process.env[variable], `./${source}`], { cwd: root, stdio: "inherit" });
  }
  return () => rmSync(dir, { recursive: true, force: true });
}
