import type { FullConfig, Reporter, Suite, TestCase, TestResult } from "@playwright/test/reporter";
import { type Engine, cells } from "./cells.ts";

/** Says at the end of a run, for each engine and column of the table of ways, how many cells came to which outcome, and which cells are none. */
export default class Tally implements Reporter {
  private readonly rows = new Map<string, string[]>();
  private all = false;

  onBegin(_: FullConfig, suite: Suite): void {
    this.all = suite.allTests().filter((test) => this.cell(test)).length > 100;
  }

  onTestEnd(test: TestCase, result: TestResult): void {
    const cell = this.cell(test);
    if (!cell || result.status !== "passed") return;
    const [row = "", outcome = ""] = cell.split(": ");
    this.rows.set(row, [...(this.rows.get(row) ?? []), outcome]);
  }

  onEnd(): void {
    const gone = [...this.rows.values()].flat().length;
    if (gone === 0) return;
    for (const [row, outcomes] of [...this.rows].sort()) {
      const { cells: possible, impossible } = cells(row.split(" ")[0] as Engine);
      const counts = ["one", "new", "refused"].map((outcome) => `${outcome} ${outcomes.filter((each) => each === outcome).length}`);
      console.log(`ways in ${row}: ${outcomes.length} of ${possible.filter(({ column }) => column === row).length}: ${counts.join(", ")}`);
      if (this.all) for (const [reason, names] of impossible.get(row)!) console.log(`  not ${names.length}, because ${reason}: ${names.join("; ")}`);
    }
    console.log(`${gone} cells of the table of ways`);
  }

  private cell(test: TestCase): string | undefined {
    return test.annotations.find(({ type }) => type === "cell")?.description;
  }
}
