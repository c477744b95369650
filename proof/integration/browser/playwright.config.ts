import { defineConfig } from "@playwright/test";

// A real Chromium against a real `semel demo`: Debian's headless shell, which takes half of the processor's time, and the whole
// browser for tests tagged @whole, about what the shell does not have. SEMEL_TEST_CHROMIUM names another one for all. Every worker
// starts a demo of its own on free ports and runs one test at a time, so tests do not meet.
//
// Variants of what another test shows are tagged @long, and run in the long form alone, in the whole browser, or in the shell where
// they are tagged @lean. The rest of the table
// of ways, @table, takes ten minutes of both processors, and runs with SEMEL_LONG=table.
const long = Boolean(process.env.SEMEL_LONG);
const whole = { launchOptions: launch("/usr/bin/chromium") };
const shell = { launchOptions: launch("/usr/bin/chromium-headless-shell") };
const table = process.env.SEMEL_LONG === "table";

function launch(browser: string) {
  return { executablePath: process.env.SEMEL_TEST_CHROMIUM ?? browser, args: ["--no-sandbox", "--host-resolver-rules=MAP console.test 127.0.0.1"] };
}

export default defineConfig({
  testDir: "tests",
  globalSetup: "./build.ts",
  timeout: 180_000, // a bound, not a measure: on a starved machine a page takes a minute
  expect: { timeout: 30_000 },
  fullyParallel: true,
  projects: long ? [
    { name: "lean", grep: /@lean/, use: shell },
    { name: "whole", grep: table ? /@long|@table/ : /@long/, grepInvert: /@lean/, use: whole },
  ] : [
    { name: "shell", grepInvert: /@long|@table|@whole/, use: shell },
    { name: "whole", grep: /@whole/, grepInvert: /@long|@table/, use: whole },
  ],
  workers: 2, // the tests wait more than they compute
  forbidOnly: true,
  retries: 1, // a browser that starves on a busy machine; what needed it is reported as flaky, and counted on the last line
  reporter: [["list"], ["./tests/tally.ts"]],
  use: {
    browserName: "chromium",
    screenshot: "only-on-failure",
    trace: process.env.TRACE ? "retain-on-failure" : "off", // it costs a tenth of the time
  },
});
