import { texts } from "./texts.js";

/** What a page of scripts says while a request waits, in addition to the texts of forms. */
export interface WaitingTexts {
  /** Waiting for the network. */
  offline: string;
  /** It is not known yet whether it was done; the same draft can be sent again safely. */
  unsure: string;
}

/** The texts by language. English is used for every other language. */
export const waitingTexts: Readonly<Record<keyof typeof texts, WaitingTexts>> = {
  en: {
    offline: "You are offline. We will send this when you are back online.",
    unsure: "We could not confirm that this was saved. You can safely send it again.",
  },
  sv: {
    offline: "Du är offline. Vi skickar när du är online igen.",
    unsure: "Vi kunde inte bekräfta att det sparades. Du kan tryggt skicka igen.",
  },
  hi: {
    offline: "आप ऑफ़लाइन हैं। ऑनलाइन आते ही हम इसे भेज देंगे।",
    unsure: "हम पुष्टि नहीं कर सके कि यह सहेजा गया या नहीं। आप इसे बेझिझक दोबारा भेज सकते हैं।",
  },
  zh: {
    offline: "您当前处于离线状态，恢复联网后会自动提交。",
    unsure: "暂时无法确认是否已保存。您可以放心地再次提交。",
  },
};
