import { getCurrentScope, onScopeDispose, type Ref, shallowRef } from "vue";
import { type Progress, type SemelInit, submission } from "./semel.js";

/** An intent by its name, with its progress: what a component needs to send something once. */
export function useIntent(intent: string, options: Omit<SemelInit, "intent"> = {}): {
  progress: Readonly<Ref<Progress>>;
  send(input: RequestInfo | URL, init?: RequestInit, from?: object): Promise<Response | undefined>;
} {
  const progress = shallowRef<Progress>({ busy: false, state: "idle", replayed: false });
  const sender = submission(intent, options, (next) => (progress.value = next));
  if (getCurrentScope()) onScopeDispose(() => sender.stop());
  return { progress, send: sender.send };
}
