import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";

const web = join(import.meta.dirname, "..");

/** The scripts of the page, as a reader pastes them. */
function scripts(page: string): string[] {
  const text = readFileSync(join(web, page), "utf8");
  return Array.from(text.matchAll(/^```js\n([^]*?)^```$/gm), (match) => match[1]!);
}

/** What a bundler says of a script that is pasted into a folder where semel is installed. */
async function problems(contents: string): Promise<string[]> {
  try {
    await build({
      stdin: { contents, resolveDir: web, sourcefile: "pasted.js" },
      bundle: true, write: false, format: "esm", target: "es2022", external: ["react", "vue"], logLevel: "silent",
    });
    return [];
  } catch (error) {
    return (error as { errors: { text: string }[] }).errors.map((each) => each.text);
  }
}

test("every script of README.md can be pasted", async () => {
  const found = scripts("README.md");
  expect(found.length).toBeGreaterThan(3);
  for (const script of found) expect(await problems(script), script).toEqual([]);
});

test("a script that imports what is not there is found", async () => {
  expect(await problems('import { openQeue } from "semel/queue"; openQeue();')).not.toEqual([]);
});
