import { defineConfig } from "@playwright/test";

// The core of what people do, in Debian's Firefox (or the one that
// SEMEL_TEST_FIREFOX names), driven over WebDriver BiDi: Playwright's own
// Firefox is a download. Each file launches one Firefox with the settings it is
// about.
export default defineConfig({
  testDir: "firefox",
  globalSetup: "./build.ts",
  grepInvert: process.env.SEMEL_LONG === "table" ? [] : /@table/, // it takes eight minutes
  timeout: 180_000, // a bound, not a measure: on a starved machine a page takes a minute
  expect: { timeout: 30_000 },
  workers: 2, // each with a Firefox
  fullyParallel: true,
  forbidOnly: true,
  retries: 1, // as in Chromium
  reporter: [["list"], ["./tests/tally.ts"]],
});
