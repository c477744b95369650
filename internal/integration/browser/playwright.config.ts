import { defineConfig } from "@playwright/test";

// A real Chromium (Debian's, unless SEMEL_TEST_CHROMIUM names another one)
// against a real `semel demo`. Every worker starts a demo of its own on free
// ports and runs one test at a time, so tests do not meet.
export default defineConfig({
  testDir: "tests",
  globalSetup: "./build.ts",
  timeout: 60_000,
  expect: { timeout: 15_000 },
  fullyParallel: true,
  // Variants of what another test shows are tagged @long, and run in the long form alone.
  ...(process.env.SEMEL_LONG ? { grep: /@long/ } : { grepInvert: /@long/ }),
  workers: 2, // the tests wait more than they compute
  forbidOnly: true,
  retries: 1, // a browser that starves on a busy machine; what needed it is reported as flaky, and counted on the last line
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    launchOptions: {
      executablePath: process.env.SEMEL_TEST_CHROMIUM ?? "/usr/bin/chromium",
      args: ["--no-sandbox"],
    },
    screenshot: "only-on-failure",
    trace: process.env.TRACE ? "retain-on-failure" : "off", // it costs a tenth of the time
  },
});
