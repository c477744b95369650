// Keeps the counts and the decisions of the page as they are on the server.
// Without this script the page loads itself again every few seconds.
"use strict";

const words = { requests: ["request", "requests"], invoices: ["invoice", "invoices"], emails: ["e-mail", "e-mails"] };

function put(node, text) {
  if (node.textContent !== text) node.textContent = text; // an equal text would be read aloud again
}

function showCounts(id, counts) {
  const place = document.getElementById(id);
  for (const [name, [one, many]] of Object.entries(words)) {
    put(place.querySelector(`[data-count=${name}]`), String(counts[name]));
    put(place.querySelector(`[data-word=${name}]`), counts[name] === 1 ? one : many);
  }
}

function cell(row, name, text) {
  const td = row.insertCell();
  td.className = name;
  td.textContent = text;
}

function showDecisions(decisions) {
  document.getElementById("silent").hidden = decisions.length > 0;
  document.getElementById("decisions").hidden = decisions.length === 0;
  const rows = document.createDocumentFragment();
  for (const decision of decisions) {
    const row = document.createElement("tr");
    cell(row, "time", decision.at);
    cell(row, "request", decision.request);
    const said = row.insertCell();
    const word = document.createElement("span");
    word.className = `word word-${decision.tone}`;
    word.textContent = decision.word;
    const means = document.createElement("span");
    means.className = "means";
    means.textContent = decision.means;
    said.append(word, " ", means);
    rows.append(row);
  }
  document.getElementById("rows").replaceChildren(rows);
}

const live = document.getElementById("live");
live.hidden = false;
put(live, "Connecting…");

const events = new EventSource("/events");
events.onopen = () => put(live, "Live");
events.onerror = () => put(live, "Not connected; trying again…");
events.onmessage = (event) => {
  const state = JSON.parse(event.data);
  showCounts("bare-counts", state.unprotected);
  showCounts("kept-counts", state.protected);
  showDecisions(state.decisions);
};
