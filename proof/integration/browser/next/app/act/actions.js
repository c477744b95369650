"use server";

export async function order({ orders }, form) {
  return { orders: orders + 1, item: form.get("item") };
}

export async function remove() {}

export async function add() {}
