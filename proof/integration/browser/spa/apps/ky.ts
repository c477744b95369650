import ky from "ky";
import { draw, order, orders } from "./here.ts";

draw((signal) => ky.post(orders, { json: order, signal, retry: { methods: ["post"], limit: 3, delay: () => 50 } }).json());
