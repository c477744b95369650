import express from "express";

const app = express();
const orders = [];
app.use(express.json(), express.urlencoded({ extended: false }));

app.get("/", (req, res) => {
  res.send('<!doctype html><title>Shop</title><form method="post" action="/orders" id="order"><input name="item"><button>Order</button></form>');
});
app.get("/orders", (req, res) => res.json(orders));
app.post("/orders", (req, res) => {
  orders.push(req.body);
  res.status(201).location(`/orders/${orders.length}`).json({ order: orders.length });
});

app.listen(Number(process.argv[2]), "127.0.0.1");
