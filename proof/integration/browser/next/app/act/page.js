import Act from "./act.js";

export const dynamic = "force-dynamic"; // made for each reader

export default function Page() {
  return <Act />;
}
