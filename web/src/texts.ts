/** What a person is told. Every text can be replaced: by an attribute of the form, or by an option. */
export interface Texts {
  /** Shown and announced while a submission is under way. */
  saving: string;
  /** Shown and announced after a repetition was answered by the first attempt's answer. */
  duplicate: string;
}

/** The texts by language. English is used for every other language. */
export const texts: Readonly<Record<"en" | "sv" | "hi" | "zh", Texts>> = {
  en: {
    saving: "Saving…",
    duplicate: "Saved. We ignored the duplicate submission and kept your first attempt.",
  },
  sv: {
    saving: "Sparar…",
    duplicate: "Sparat. Formuläret skickades flera gånger, men bara ditt första försök räknas.",
  },
  hi: {
    saving: "सहेजा जा रहा है…",
    duplicate: "सहेज लिया गया। फ़ॉर्म दोबारा भेजा गया था; हमने केवल आपका पहला प्रयास रखा है।",
  },
  zh: {
    saving: "正在保存…",
    duplicate: "已保存。我们忽略了重复提交，只保留您第一次提交的内容。",
  },
};

/** The texts for a language tag such as "sv-FI"; for one that is unknown, or none, English. */
export function textsFor(language: string | null | undefined): Texts {
  const primary = (language ?? "").toLowerCase().split("-")[0] as keyof typeof texts;
  return Object.hasOwn(texts, primary) ? texts[primary] : texts.en;
}

/** The language of an element: that of the nearest lang attribute. */
export function languageOf(element: Element): string {
  return element.closest("[lang]")?.getAttribute("lang") ?? "";
}
