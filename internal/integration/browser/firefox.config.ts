import { defineConfig } from "@playwright/test";

// The core of what people do, in Debian's Firefox (or the one that
// SEMEL_TEST_FIREFOX names), driven over WebDriver BiDi: Playwright's own
// Firefox is a download. Each file launches one Firefox with the settings it is
// about, so there is one worker.
export default defineConfig({
  testDir: "firefox",
  globalSetup: "./build.ts",
  timeout: 60_000,
  expect: { timeout: 15_000 },
  workers: 1,
  forbidOnly: true,
  reporter: [["list"]],
});
