// Builds web/dist, or the directory given as the argument: the scripts by esbuild, their types by tsc.
import { execFileSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "esbuild";

const here = import.meta.dirname;
const out = resolve(process.argv[2] ?? join(here, "dist"));

/** Each script's format, its source where that has another name, and whether it loads its siblings at run time. */
const scripts = [
  { name: "guard", format: "iife", mangleProps: /_$|^(shelf|shelves|holds|submission|unlock|names|drop|here|outcome|record|end|show|hide)$/ },
  { name: "semel", format: "esm", beside: true },
  { name: "queue", format: "esm", source: "queue/queue" },
  { name: "sw", format: "iife" },
  { name: "page", format: "iife", mangleProps: /_$|^(kind|definitive|ends|replayed|retryAfterMs|asked|route|action|said)$/ },
  { name: "react", format: "esm", beside: true },
  { name: "vue", format: "esm", beside: true },
  { name: "htmx", format: "esm", beside: true },
];

/** Leaves "./semel.js" and "./guard.js" in place, so that a page has one copy of what they hold. */
const beside = {
  name: "beside",
  setup(plugin) {
    plugin.onResolve({ filter: /^\.\/(semel|guard)\.js$/ }, ({ path }) => ({ path, external: true, sideEffects: true }));
  },
};

rmSync(out, { recursive: true, force: true });
for (const { name, format, source = name, mangleProps = /_$/, ...script } of scripts) {
  const entry = join(here, "src", `${source}.ts`);
  if (!existsSync(entry)) continue;
  await build({
    entryPoints: [entry],
    outfile: join(out, `${name}.js`),
    absWorkingDir: here,
    bundle: true,
    minify: true,
    format,
    target: "es2022",
    mangleProps, // members of ours that no other script sees
    tsconfigRaw: { compilerOptions: { useDefineForClassFields: false } }, // fields without a value need no code
    charset: "utf8",
    legalComments: "none",
    external: ["react", "vue"],
    plugins: script.beside ? [beside] : [],
    logLevel: "warning",
  });
}
execFileSync(process.execPath, [
  join(here, "node_modules/typescript/bin/tsc"), "-p", join(here, "tsconfig.build.json"), "--outDir", join(out, "types"),
], { stdio: "inherit" });
