import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, logIn, test } from "./console.ts";

/** Runs a program in a directory, and returns what it writes. */
function run(dir: string, program: string, ...args: string[]): string {
  return execFileSync(program, args, { cwd: dir, encoding: "utf8" });
}

/** Runs a command of the scripts of cmd/semel/internal/command. */
function script(dir: string, name: string, ...args: string[]): string {
  return run(dir, join(process.env.SEMEL_TEST_SCRIPTS!, name), ...args);
}

/** Runs statements in the application's database. */
function sql(dir: string, text: string): void {
  writeFileSync(join(dir, "statements.sql"), text);
  script(dir, "run-sql", "shop.db", "statements.sql");
}

test("a message in quarantine is released, and its consumer handles it", { tag: "@long" }, async ({ browser, service }, info) => {
  expect(script(service.dir, "fill-inbox", "semel.db")).not.toContain("handled");
  const page = await (await browser.newContext({ viewport: { width: 320, height: 800 } })).newPage();
  const console = await service.console();
  await logIn(page, { console });
  await page.getByRole("link", { name: "Decide on it" }).click();
  await expect(page.getByRole("main")).toContainText("paid-17");
  await expect(page.locator("dl.facts").first()).toContainText("no such customer");
  await page.getByLabel("Release it").check();
  await page.getByLabel("Reason").fill("she is there now");
  await info.attach("message", { body: await page.screenshot({ fullPage: true }), contentType: "image/png" });
  await page.getByRole("button", { name: "Decide as alice" }).click();
  await expect(page.getByRole("status")).toHaveText("The message is released.");
  await expect(page.getByRole("button", { name: "Decide as alice" })).toHaveCount(0);
  await info.attach("released message", { body: await page.screenshot({ fullPage: true }), contentType: "image/png" });
  expect(script(service.dir, "fill-inbox", "semel.db")).toContain("handled paid-17");
  await page.getByRole("link", { name: "Audit", exact: true }).click();
  await expect(page.getByRole("table")).toContainText("she is there now");
  await page.goto(`${console}log`); // this store has none
  await expect(page.getByRole("main")).toContainText("No outcome log is kept");
  await info.attach("no log", { body: await page.screenshot({ fullPage: true }), contentType: "image/png" });
  await page.context().close();
});

test("a message that holds its key back is released, and all are published in order", { tag: "@long" }, async ({ browser, service }, info) => {
  expect(script(service.dir, "run-outbox", "shop.db", "semel.db", "paid-1", "paid-1", "paid-2")).not.toContain("published");
  const page = await (await browser.newContext({ viewport: { width: 320, height: 800 } })).newPage();
  const console = await service.console("--dsn", `sqlite:${join(service.dir, "shop.db")}`);
  await logIn(page, { console });
  await page.getByRole("link", { name: "Outbox" }).click();
  await expect(page.getByRole("table")).toContainText("no such queue");
  await info.attach("outbox", { body: await page.screenshot({ fullPage: true }), contentType: "image/png" });
  await page.getByRole("link", { name: "paid-1" }).click();
  await expect(page.locator("dl.facts")).toContainText("order-17, 1 message waits behind it");
  await page.getByLabel("Release it").check();
  await page.getByLabel("Reason").fill("the queue is there now");
  await info.attach("held message", { body: await page.screenshot({ fullPage: true }), contentType: "image/png" });
  await page.getByRole("button", { name: "Decide as alice" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Outbox");
  await info.attach("released", { body: await page.screenshot({ fullPage: true }), contentType: "image/png" });
  expect(script(service.dir, "run-outbox", "shop.db", "semel.db", "none")).toBe("published paid-1\npublished paid-2\n");
  await page.reload();
  await expect(page.getByRole("main")).toContainText("None.");
  await page.getByRole("link", { name: "Audit", exact: true }).click();
  await expect(page.getByRole("table")).toContainText("the queue is there now");
  await page.context().close();
});

test("a run of dedupe is undone", { tag: "@long" }, async ({ browser, service }, info) => {
  const { dir } = service;
  const rows = (n: number) => sql(dir, `DROP TABLE IF EXISTS proof; CREATE TABLE proof (n CHECK (n = ${n})); INSERT INTO proof SELECT count(*) FROM customers`);
  sql(dir, "CREATE TABLE customers (id integer PRIMARY KEY, email text); INSERT INTO customers VALUES (1, 'a@x'), (2, 'a@x'), (3, 'b@x')");
  run(dir, process.env.SEMEL_TEST_BIN!, "dedupe", "plan", "--dsn", "sqlite:shop.db", "--table", "customers", "--key", "email", "--losers", "delete", "--index", "one_email");
  run(dir, process.env.SEMEL_TEST_BIN!, "dedupe", "guard", "semel-dedupe.json", "--dsn", "sqlite:shop.db", "--by", "ada");
  run(dir, process.env.SEMEL_TEST_BIN!, "dedupe", "run", "semel-dedupe.json", "--dsn", "sqlite:shop.db", "--by", "ada", "--rest", "1ms");
  rows(2);
  script(dir, "fill-inbox", "semel.db"); // the service's store
  const page = await (await browser.newContext()).newPage();
  const console = await service.console("--dsn", `sqlite:${join(dir, "shop.db")}`);
  await logIn(page, { console });
  await page.getByRole("link", { name: "Duplicates" }).click();
  await page.getByLabel("Key of the row that was merged").fill("2");
  await page.getByRole("button", { name: "Find" }).click();
  await expect(page.getByRole("table").last()).toContainText("Run 1, group 1");
  await info.attach("trace", { body: await page.screenshot({ fullPage: true }), contentType: "image/png" });
  await page.getByRole("link", { name: "Run 1" }).first().click();
  await page.getByLabel("The whole run").check();
  await page.getByLabel("Reason").fill("they are two people");
  await page.getByRole("button", { name: "Undo it as alice" }).click();
  await expect(page.getByRole("status")).toHaveText("Undone: 1 row is as it was.");
  await expect(page.locator("dl.facts").first()).toContainText("1 undone");
  await info.attach("undone run", { body: await page.screenshot({ fullPage: true }), contentType: "image/png" });
  rows(3);
  await page.context().close();
});
