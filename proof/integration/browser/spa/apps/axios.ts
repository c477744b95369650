import axios from "axios";
import { draw, order, orders, type Order } from "./here.ts";

draw(async (signal) => (await axios.post<Order>(orders, order, { signal })).data);
