"use client";
import { useEffect, useState } from "react";

/** A page with a form that the browser sends, and a word that says when scripts are at work. */
export default function Order() {
  const [by, is] = useState("the server");
  useEffect(() => is("the browser"), []);
  return (
    <main>
      <h1>New order</h1>
      <form method="post" action="/orders">
        <label>Item <input name="item" defaultValue="tea" /></label>
        <button>Order</button>
      </form>
      <output>Drawn by {by}</output>
    </main>
  );
}
