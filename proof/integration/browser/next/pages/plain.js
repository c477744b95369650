import Head from "next/head";
import Order from "../order.js";

export default function Page() {
  return <><Head><title>Order</title><link rel="icon" href="data:," /></Head><Order /></>;
}
