import { QueueError, type Trouble, type Word } from "./entry.js";

/** What a person reads about the queue. {n}: a number. {what}: an entry's label. {said}: what the server said. */
export interface QueueTexts {
  /** Nothing waits: all of it was sent. */
  empty: string;
  /** Nothing waits, after the last of it was discarded. */
  nothing: string;
  waiting: Readonly<Partial<Record<Intl.LDMLPluralRule, string>>>;
  offline: string;
  signIn: string;
  /** Above the entries that were set aside. */
  asideTitle: string;
  aside: Readonly<Partial<Record<Intl.LDMLPluralRule, string>>>;
  retry: string;
  discard: string;
  confirm: string;
  reallyDiscard: string;
  keep: string;
  /** Why an entry was set aside, or waits. */
  reasons: Readonly<Partial<Record<Word, string>>>;
  said: string;
  /** add() rejected. */
  notKept: string;
  /** What is wrong with the queue itself, or with what add() was given. */
  trouble: Readonly<Partial<Record<Trouble, string>>>;
}

/** The texts by language. English is used for every other language. */
export const queueTexts: Readonly<Record<"en" | "sv" | "hi" | "zh", QueueTexts>> = {
  en: {
    empty: "Everything has been sent.",
    nothing: "Nothing is waiting to be sent.",
    waiting: { one: "{n} waiting to be sent.", other: "{n} waiting to be sent." },
    offline: "You are offline. It is kept on this device and sent when you are back online.",
    signIn: "Sign in to send what is waiting.",
    asideTitle: "Not sent",
    aside: { one: "{n} could not be sent and needs your decision.", other: "{n} could not be sent and need your decision." },
    retry: "Try again",
    discard: "Discard",
    confirm: "Discard this for good?",
    reallyDiscard: "Yes, discard",
    keep: "Keep it",
    reasons: {
      rejected: "The server did not accept it.",
      mismatch: "The server already has something else in its place.",
      unknown: "We can't tell whether it was saved. Check before you try again.",
      cancelled: "It was cancelled.",
      "parent-discarded": "The entry it belongs to was discarded.",
      "parent-answer": "The server's answer to the entry it belongs to did not fit.",
      "parent-set-aside": "Waiting for your decision about the entry it belongs to.",
    },
    said: "Answer: {said}",
    notKept: "This was not kept and not sent.",
    trouble: {
      "storage-disabled": "This browser does not let the page keep anything on this device, so nothing can wait to be sent. A private window or a privacy setting may be the reason.",
      "storage-full": "This device has no room left for what is waiting to be sent.",
      "storage-newer": "There is a newer version of this page. Reload it.",
      "storage-blocked": "Another tab has an old version of this page. Close it.",
      "storage-failed": "The storage of this browser failed. Reload the page.",
      "queue-full": "Too much is waiting to be sent already.",
      "too-large": "It is too large to keep on this device.",
    },
  },
  sv: {
    empty: "Allt är skickat.",
    nothing: "Inget väntar på att skickas.",
    waiting: { one: "{n} väntar på att skickas.", other: "{n} väntar på att skickas." },
    offline: "Du är offline. Det sparas på den här enheten och skickas när du är online igen.",
    signIn: "Logga in för att skicka det som väntar.",
    asideTitle: "Inte skickat",
    aside: { one: "{n} kunde inte skickas. Du behöver välja vad som ska hända.", other: "{n} kunde inte skickas. Du behöver välja vad som ska hända." },
    retry: "Försök igen",
    discard: "Ta bort",
    confirm: "Ta bort för gott?",
    reallyDiscard: "Ja, ta bort",
    keep: "Behåll",
    reasons: {
      rejected: "Servern godtog det inte.",
      mismatch: "Servern har redan något annat på dess plats.",
      unknown: "Det går inte att säga om det sparades. Kontrollera innan du försöker igen.",
      cancelled: "Det annullerades.",
      "parent-discarded": "Det som det hör till togs bort.",
      "parent-answer": "Svaret på det som det hör till passade inte.",
      "parent-set-aside": "Väntar på ditt val för det som det hör till.",
    },
    said: "Svar: {said}",
    notKept: "Det här sparades inte och skickades inte.",
    trouble: {
      "storage-disabled": "Webbläsaren låter inte sidan spara något på enheten, så inget kan vänta på att skickas. Det kan bero på ett privat fönster eller en integritetsinställning.",
      "storage-full": "Det finns ingen plats kvar på enheten för det som ska skickas.",
      "storage-newer": "Det finns en nyare version av sidan. Ladda om den.",
      "storage-blocked": "En annan flik har en gammal version av sidan. Stäng den.",
      "storage-failed": "Webbläsarens lagring fungerar inte. Ladda om sidan.",
      "queue-full": "Det väntar redan för mycket på att skickas.",
      "too-large": "Det är för stort för att sparas på enheten.",
    },
  },
  hi: {
    empty: "सब कुछ भेज दिया गया है।",
    nothing: "भेजने के लिए कुछ बाकी नहीं है।",
    waiting: { one: "{n} भेजा जाना बाकी है।", other: "{n} भेजे जाने बाकी हैं।" },
    offline: "आप ऑफ़लाइन हैं। यह इस डिवाइस पर सुरक्षित है और ऑनलाइन आते ही भेज दिया जाएगा।",
    signIn: "जो बाकी है उसे भेजने के लिए साइन इन करें।",
    asideTitle: "नहीं भेजा गया",
    aside: { one: "{n} नहीं भेजा जा सका। फ़ैसला आपको करना है।", other: "{n} नहीं भेजे जा सके। फ़ैसला आपको करना है।" },
    retry: "फिर कोशिश करें",
    discard: "हटाएँ",
    confirm: "इसे हमेशा के लिए हटाएँ?",
    reallyDiscard: "हाँ, हटाएँ",
    keep: "रहने दें",
    reasons: {
      rejected: "सर्वर ने इसे स्वीकार नहीं किया।",
      mismatch: "सर्वर पर इसकी जगह पहले से कुछ और मौजूद है।",
      unknown: "कहा नहीं जा सकता कि यह सहेजा गया या नहीं। दोबारा कोशिश करने से पहले जाँच लें।",
      cancelled: "इसे रद्द कर दिया गया।",
      "parent-discarded": "यह जिससे जुड़ा था, उसे हटा दिया गया।",
      "parent-answer": "यह जिससे जुड़ा है, उसका उत्तर मेल नहीं खाया।",
      "parent-set-aside": "यह जिससे जुड़ा है, उस पर आपके फ़ैसले का इंतज़ार है।",
    },
    said: "उत्तर: {said}",
    notKept: "यह न सहेजा गया, न भेजा गया।",
    trouble: {
      "storage-disabled": "यह ब्राउज़र इस पेज को डिवाइस पर कुछ भी रखने नहीं देता, इसलिए बाद में भेजने के लिए कुछ नहीं रखा जा सकता। निजी विंडो या कोई गोपनीयता सेटिंग इसका कारण हो सकती है।",
      "storage-full": "जो भेजना है उसे रखने के लिए इस डिवाइस पर जगह नहीं बची।",
      "storage-newer": "इस पेज का नया संस्करण आ गया है। पेज को रीलोड करें।",
      "storage-blocked": "किसी दूसरे टैब में इस पेज का पुराना संस्करण खुला है। उसे बंद करें।",
      "storage-failed": "ब्राउज़र का स्टोरेज काम नहीं कर रहा। पेज को रीलोड करें।",
      "queue-full": "पहले से ही बहुत कुछ भेजा जाना बाकी है।",
      "too-large": "यह इस डिवाइस पर रखने के लिए बहुत बड़ा है।",
    },
  },
  zh: {
    empty: "全部已发送。",
    nothing: "没有等待发送的内容。",
    waiting: { other: "{n} 项等待发送。" },
    offline: "您当前处于离线状态。内容已保存在本设备上，恢复联网后会自动发送。",
    signIn: "请登录，以便发送等待中的内容。",
    asideTitle: "未发送",
    aside: { other: "{n} 项未能发送，需要您来决定。" },
    retry: "重试",
    discard: "放弃",
    confirm: "确定永久放弃此项？",
    reallyDiscard: "确定放弃",
    keep: "保留",
    reasons: {
      rejected: "服务器没有接受此项。",
      mismatch: "服务器上对应的位置已有其他内容。",
      unknown: "无法确定是否已保存。请先核实，再重试。",
      cancelled: "此项已被取消。",
      "parent-discarded": "它所依赖的内容已被放弃。",
      "parent-answer": "它所依赖的内容返回的结果不符。",
      "parent-set-aside": "等待您对它所依赖的内容作出决定。",
    },
    said: "响应：{said}",
    notKept: "此项未保存，也未发送。",
    trouble: {
      "storage-disabled": "此浏览器不允许本页在设备上保存任何内容，因此无法保留待发送的内容。原因可能是无痕窗口或隐私设置。",
      "storage-full": "本设备空间不足，无法保存待发送的内容。",
      "storage-newer": "本页已有新版本，请刷新。",
      "storage-blocked": "另一个标签页打开了本页的旧版本，请将其关闭。",
      "storage-failed": "浏览器存储出现故障，请刷新页面。",
      "queue-full": "等待发送的内容已达上限。",
      "too-large": "内容过大，无法保存在本设备上。",
    },
  },
};

/** The texts for a language tag such as "sv-FI", and the tag of the language they are in. */
export function queueTextsFor(language: string): { texts: QueueTexts; language: string } {
  const primary = language.toLowerCase().split("-")[0] as keyof typeof queueTexts;
  return Object.hasOwn(queueTexts, primary) ? { texts: queueTexts[primary], language: primary } : { texts: queueTexts.en, language: "en" };
}

/** What a person reads when add() has rejected, in the language of a tag such as "sv-FI": that nothing was kept or sent, and why. */
export function refusalText(error: unknown, language: string): string {
  const { texts, language: own } = queueTextsFor(language);
  const why = error instanceof QueueError ? texts.trouble[error.code] : undefined;
  return [texts.notKept, why].filter(Boolean).join(own === "zh" ? "" : " ");
}

/** A text with its number. */
export function counted(forms: QueueTexts["waiting"], n: number, language: string): string {
  const form = forms[new Intl.PluralRules(language).select(n)] ?? forms.other ?? "";
  return form.replace("{n}", n.toLocaleString(language));
}
