// Every page works without this script. It writes times and numbers in the reader's language, and follows the numbers of the process.
"use strict";
(() => {
  const tellEvery = 10_000; // milliseconds, for people who listen
  const language = navigator.languages;
  const number = new Intl.NumberFormat(language, { maximumFractionDigits: 2 });
  const time = new Intl.DateTimeFormat(language, {
    year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short",
  });
  const clock = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit" });
  for (const element of document.querySelectorAll("time[datetime]")) {
    const at = new Date(element.dateTime);
    if (isNaN(at)) continue;
    const utc = element.title || element.textContent; // to compare with logs
    const short = element.className;
    element.title = short ? `${time.format(at)}, ${utc}` : utc;
    if (short !== "ago") element.textContent = (short ? clock : time).format(at);
  }
  const write = (element, value) => {
    element.value = value;
    element.textContent = number.format(value);
  };
  for (const element of document.querySelectorAll("data[value]")) if (element.value !== "") write(element, element.value);

  document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  const figures = document.querySelectorAll("data[data-live]");
  const news = document.querySelector("[data-new]");
  const status = document.querySelector("[data-told]");
  if (!news) return;
  let stream;
  let told = -tellEvery; // when something was told last
  let timer;

  const tell = () => {
    if (timer || news.hidden) return;
    timer = setTimeout(() => {
      timer = undefined;
      told = performance.now();
      status.textContent = news.textContent;
    }, Math.max(0, told + tellEvery - performance.now()));
  };
  const take = ({ data }) => {
    const now = JSON.parse(data);
    for (const element of figures) {
      const value = now[element.dataset.live];
      const since = value - (element.dataset.base ?? 0);
      write(element, since < 0 ? value : since); // less than before: the process is another one
    }
    const count = now[news.dataset.new] - news.dataset.from;
    const shown = news.querySelector("data");
    if (count < 1 || shown.value === String(count)) return; // less than before: the process is another one
    write(shown, count);
    news.hidden = false;
    tell();
  };
  // A hidden page lets go of its stream: a browser has few connections for one host.
  const follow = () => {
    stream?.close();
    if (document.hidden) return;
    stream = new EventSource("/console/live");
    stream.onmessage = take;
  };
  document.addEventListener("visibilitychange", follow);
  addEventListener("pagehide", () => stream?.close());
  addEventListener("pageshow", follow);
})();
