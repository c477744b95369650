// What the example uses of react-dom, which ships no types.
declare module "react-dom/client" {
  export function createRoot(container: Element): { render(node: unknown): void };
}
