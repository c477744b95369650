import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "@playwright/test";

/** A running program of this repository. */
export interface Program {
  /** The addresses that it wrote into its ready file, by name. */
  addresses: Record<string, string>;
  /** Ends it as a person would, and expects it to end in order. */
  stop(): Promise<void>;
}

/** Starts a program that takes --ready-file, and waits until it answers. */
export async function start(binary: string, args: readonly string[]): Promise<Program> {
  const dir = mkdtempSync(join(tmpdir(), "semel-ready-"));
  const ready = join(dir, "ready");
  const child = spawn(binary, [...args, "--ready-file", ready], { stdio: ["ignore", "ignore", "inherit"] });
  let text = "";
  await expect.poll(() => {
    if (child.exitCode !== null) throw new Error(`${binary} ended with exit code ${child.exitCode}`);
    try {
      text = readFileSync(ready, "utf8");
    } catch {
      return false; // not there yet
    }
    return true;
  }, { intervals: [20, 50, 100] }).toBe(true);
  return {
    addresses: Object.fromEntries(text.trim().split("\n").map((line) => line.split(/=(.*)/).slice(0, 2))),
    stop: async () => {
      child.kill("SIGINT");
      if (child.exitCode === null) await once(child, "exit");
      rmSync(dir, { recursive: true, force: true });
      expect(child.exitCode, `${binary} ends in order`).toBe(0);
    },
  };
}
