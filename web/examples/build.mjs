// Builds the examples into the directory given as the argument: node examples/build.mjs DIR. The example shop serves them
// below /assets/: go run ./examples/shop/cmd/shop -assets DIR
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const [out] = process.argv.slice(2);
if (!out) throw new Error("usage: node examples/build.mjs DIR");
const here = import.meta.dirname;
mkdirSync(out, { recursive: true });
for (const name of ["react.html", "vue.html", "htmx.html"]) copyFileSync(join(here, name), join(out, name));
copyFileSync(join(here, "../node_modules/htmx.org/dist/htmx.js"), join(out, "htmx.js"));
await build({
  entryPoints: ["react.ts", "vue.ts"].map((name) => join(here, name)),
  outdir: out,
  absWorkingDir: here,
  bundle: true,
  format: "esm",
  define: { "process.env.NODE_ENV": '"production"', __VUE_OPTIONS_API__: "false", __VUE_PROD_DEVTOOLS__: "false", __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "false" },
  logLevel: "warning",
});
