import { useCallback, useEffect, useMemo, useState } from "react";
import { type Progress, type SemelInit, type Sender, submission } from "./semel.js";

const idle: Progress = { busy: false, state: "idle", replayed: false };

/** An intent by its name, with its progress: what a component needs to send something once. */
export function useIntent(intent: string, options: Omit<SemelInit, "intent"> = {}): Progress & {
  send(input: RequestInfo | URL, init?: RequestInit, from?: object): Promise<Response | undefined>;
} {
  const [progress, setProgress] = useState(idle);
  const [holder] = useState(() => ({ options }));
  holder.options = options;
  // A component in strict mode is mounted twice: the sender is made anew by each mounting.
  const sender = useMemo(() => ({ current: submission(intent, holder.options, setProgress) }), [intent, holder]);
  useEffect(() => {
    sender.current = submission(intent, holder.options, setProgress);
    return () => sender.current.stop();
  }, [sender, intent, holder]);
  const send = useCallback<Sender["send"]>((...call) => sender.current.send(...call), [sender]);
  return { ...progress, send };
}

/** The submit handler of a form: sends its fields to its action, once. */
export function useSemelSubmit(intent: string, options: Omit<SemelInit, "intent"> = {}): Progress & {
  onSubmit(event: { preventDefault(): void; currentTarget: HTMLFormElement }): Promise<Response | undefined>;
} {
  const { send, ...progress } = useIntent(intent, options);
  const onSubmit = useCallback((event: { preventDefault(): void; currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const form = event.currentTarget;
    return send(form.getAttribute("action") ?? location.href, { method: "POST", body: bodyOf(form) }, form);
  }, [send]);
  return { ...progress, onSubmit };
}

function bodyOf(form: HTMLFormElement): BodyInit {
  const data = new FormData(form);
  if (form.getAttribute("enctype") === "multipart/form-data") return data;
  const fields = Array.from(data, ([name, value]) => [name, typeof value === "string" ? value : value.name] as [string, string]);
  return new URLSearchParams(fields);
}
