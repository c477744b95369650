import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { leadsToSignIn } from "../src/sign-in.js";

const { cases } = JSON.parse(readFileSync(new URL("../../testdata/vectors/signin.json", import.meta.url), "utf8")) as {
  cases: { from: string; location: string; sign_in: boolean }[];
};

test("there are vectors", () => expect(cases.length).toBeGreaterThan(60));

test.each(cases)("$from, redirected to $location", ({ from, location, sign_in }) => {
  expect(leadsToSignIn(from, location)).toBe(sign_in);
});
