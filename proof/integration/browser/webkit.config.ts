import { defineConfig } from "@playwright/test";

// The core of what people do, in Debian's WebKit (WebKitGTK's MiniBrowser), driven by its WebDriver on a display of its own:
// Playwright's own WebKit is a download. A screen has one focus, so there is one worker.
export default defineConfig({
  testDir: "webkit",
  globalSetup: "./build.ts",
  grepInvert: process.env.SEMEL_LONG === "table" ? [] : /@table/, // it takes eight minutes
  timeout: 180_000, // a bound, not a measure: on a starved machine a page takes a minute
  expect: { timeout: 30_000 },
  workers: 1,
  forbidOnly: true,
  retries: 2, // its driver loses events on a busy machine
  reporter: [["list"], ["./tests/tally.ts"]],
});
