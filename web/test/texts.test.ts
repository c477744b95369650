import { expect, test } from "vitest";
import { QueueError } from "../src/queue/entry.js";
import { queueTexts, refusalText } from "../src/queue/texts.js";
import { texts, textsFor } from "../src/texts.js";
import { waitingTexts } from "../src/waiting-texts.js";

test("every text is there in every language, and no two languages share one", () => {
  for (const table of [texts, waitingTexts]) {
    expect(Object.keys(table).sort()).toEqual(["en", "hi", "sv", "zh"]);
    const names = Object.keys(table.en) as (keyof object)[];
    for (const each of Object.values(table)) expect(Object.keys(each)).toEqual(names);
    for (const name of names) {
      const all = Object.values(table).map((each) => String(each[name]));
      expect(all.every((text) => text.trim() === text && text.length > 2)).toBe(true);
      expect(new Set(all).size).toBe(4);
    }
  }
});

test("each language is written in its script", () => {
  for (const text of Object.values(texts.hi)) expect(text).toMatch(/^[\p{Script=Devanagari}\s।,;…-]+$/u);
  for (const text of Object.values(texts.zh)) expect(text).toMatch(/^[\p{Script=Han}，。…]+$/u);
});

test("a refusal is explained in each language, also one without a reason for people", () => {
  const full = new QueueError("storage-full", "in English, for developers");
  for (const [language, { notKept, trouble }] of Object.entries(queueTexts)) {
    expect(Object.keys(trouble)).toEqual(Object.keys(queueTexts.en.trouble));
    expect(refusalText(full, language)).toBe(notKept + (language === "zh" ? "" : " ") + trouble["storage-full"]);
    expect(refusalText(new TypeError("in English"), language)).toBe(notKept);
  }
});

test("the nearest language, else English", () => {
  expect(textsFor("sv-FI")).toBe(texts.sv);
  expect(textsFor("ZH-Hant")).toBe(texts.zh);
  for (const other of ["de", "", null, undefined, "constructor"]) expect(textsFor(other)).toBe(texts.en);
});
