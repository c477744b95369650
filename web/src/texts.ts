/** The texts that a person reads. Every text can be replaced: by an attribute of the form, or by an option. */
export interface Texts {
  /** Shown and announced while a submission is under way. */
  saving: string;
  /** Shown and announced after a repetition was answered by the first attempt's answer. */
  duplicate: string;
  /** The same, when the answer is in another tab. */
  elsewhere: string;
}

/** The texts by language. English is used for every other language. */
export const texts: Readonly<Record<"en" | "sv" | "hi" | "zh", Texts>> = {
  en: {
    saving: "Saving…",
    duplicate: "You had already sent this form, so it was not sent again. To do it once more on purpose, open the form again.",
    elsewhere: "Already saved. The result is in the other tab.",
  },
  sv: {
    saving: "Sparar…",
    duplicate: "Du hade redan skickat formuläret, så det skickades inte igen. Öppna formuläret på nytt om du vill göra det en gång till.",
    elsewhere: "Redan sparat. Resultatet finns i den andra fliken.",
  },
  hi: {
    saving: "सहेजा जा रहा है…",
    duplicate: "आप यह फ़ॉर्म पहले ही भेज चुके थे, इसलिए इसे दोबारा नहीं भेजा गया। जान-बूझकर एक बार और करने के लिए फ़ॉर्म फिर से खोलें।",
    elsewhere: "पहले ही सहेजा जा चुका है। परिणाम दूसरे टैब में है।",
  },
  zh: {
    saving: "正在保存…",
    duplicate: "您之前已经提交过此表单，因此没有再次提交。如果确实需要再做一次，请重新打开表单。",
    elsewhere: "已经保存。结果在另一个标签页中。",
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
