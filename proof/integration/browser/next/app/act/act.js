"use client";
import { useActionState, useEffect, useState } from "react";
import { add, order, remove } from "./actions.js";

/** A form whose action has a state, one that is bound to an argument, and an action that a button calls. */
export default function Act() {
  const [by, is] = useState("the server");
  useEffect(() => is("the browser"), []);
  return (
    <main>
      <Stateful name="Order" />
      <form action={remove.bind(null, 7)}><button>Remove 7</button></form>
      <form action={remove.bind(null, 8)}><button>Remove 8</button></form>
      <button onClick={() => add("tea", { pieces: 2 })}>Add</button>
      {by === "the browser" && <Stateful name="Order here" />}
      <output>Drawn by {by}</output>
    </main>
  );
}

function Stateful({ name }) {
  const [state, action] = useActionState(order, { orders: 0 });
  return <form action={action}><input name="item" defaultValue="tea" /><button>{name}</button><i>{state.orders}</i></form>;
}
