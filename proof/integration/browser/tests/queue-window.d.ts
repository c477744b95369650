import type { Queue } from "../../../../web/src/queue/queue";

declare global {
  /** What the example's page offers to the console. */
  var queue: Queue;
}
