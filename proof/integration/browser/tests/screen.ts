import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** Starts a display in memory, and returns its server and its name. */
export async function openScreen(): Promise<[ChildProcess, string]> {
  const [screen, display] = await running("Xvfb", ["-displayfd", "3", "-screen", "0", "1280x900x24", "-nolisten", "tcp"], {}, true);
  return [screen, `:${display}`];
}

/** Starts a program, and waits until it has written the display that it is into its file descriptor 3, if it is one. */
export async function running(program: string, args: string[], env: NodeJS.ProcessEnv, display = false): Promise<[ChildProcess, string]> {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "ignore", "pipe"] });
  child.on("error", (error) => { throw error; });
  if (!display) return [child, ""];
  let text = "";
  for await (const piece of child.stdio[3] as NodeJS.ReadableStream) {
    text += String(piece);
    if (text.endsWith("\n")) return [child, text.trim()];
  }
  throw new Error(`${program} ended`);
}

export async function end(child: ChildProcess): Promise<void> {
  child.kill();
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}
