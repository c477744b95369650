import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const programs = {
  SEMEL_TEST_BIN: "cmd/semel", SEMEL_TEST_SHOP: "examples/shop/cmd/shop", SEMEL_TEST_INVOICES: "examples/invoices/cmd/invoices",
  SEMEL_TEST_ANSWERS: "internal/testserver/cutanswers/serve", SEMEL_TEST_ORDERS: "internal/testserver/orders",
};

// Builds semel, the example shop, the invoice application, the servers of broken answers and of forms, and the client's examples once for all tests, unless
// SEMEL_TEST_BIN, SEMEL_TEST_SHOP, SEMEL_TEST_INVOICES, SEMEL_TEST_ANSWERS, SEMEL_TEST_ORDERS and SEMEL_TEST_EXAMPLES name what was built.
// The long form gets the applications of spa/ as bundles, in SEMEL_TEST_SPA, and the commands of the scripts of cmd/semel/internal/command, in SEMEL_TEST_SCRIPTS: a test binary that is each of them by its name.
// What it returns is run after the last test.
export default function build(): () => void {
  const dir = mkdtempSync(join(tmpdir(), "semel-browser-"));
  const root = resolve(import.meta.dirname, "../../..");
  for (const [variable, source] of Object.entries(programs)) {
    if (process.env[variable]) continue;
    process.env[variable] = join(dir, variable.toLowerCase());
    execFileSync("go", ["build", "-o", process.env[variable], `./${source}`], { cwd: root, stdio: "inherit" });
  }
  if (!process.env.SEMEL_TEST_EXAMPLES) {
    process.env.SEMEL_TEST_EXAMPLES = join(dir, "examples");
    execFileSync("scripts/npm-ci", ["web"], { cwd: root, stdio: "inherit" });
    execFileSync(process.execPath, ["examples/build.mjs", process.env.SEMEL_TEST_EXAMPLES], { cwd: join(root, "web"), stdio: "inherit" });
  }
  for (const folder of ["react18", ...process.env.SEMEL_LONG ? ["spa"] : []]) {
    execFileSync("scripts/npm-ci", [`proof/integration/browser/${folder}`], { cwd: root, stdio: "inherit" });
  }
  if (process.env.SEMEL_LONG && !process.env.SEMEL_TEST_SPA) {
    process.env.SEMEL_TEST_SPA = join(dir, "spa");
    const apps = join(root, "proof/integration/browser/spa/apps");
    execFileSync(join(root, "web/node_modules/esbuild/bin/esbuild"), [
      ...readdirSync(apps).map((file) => join(apps, file)), "--bundle", "--format=esm", `--outdir=${process.env.SEMEL_TEST_SPA}`, '--define:process.env.NODE_ENV="production"',
      "--define:__VUE_OPTIONS_API__=false", "--define:__VUE_PROD_DEVTOOLS__=false", "--define:__VUE_PROD_HYDRATION_MISMATCH_DETAILS__=false", "--log-level=warning",
    ], { stdio: "inherit" });
  }
  if (process.env.SEMEL_LONG && !process.env.SEMEL_TEST_SCRIPTS) {
    process.env.SEMEL_TEST_SCRIPTS = dir;
    execFileSync("go", ["test", "-c", "-o", join(dir, "fill-inbox"), "./cmd/semel/internal/command"], { cwd: root, stdio: "inherit" });
    for (const name of ["run-sql", "run-outbox"]) symlinkSync("fill-inbox", join(dir, name));
  }
  return () => rmSync(dir, { recursive: true, force: true });
}
