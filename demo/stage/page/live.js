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

// showNetwork leaves alone what the person is about to change.
function showNetwork(form, network) {
  if (form.contains(document.activeElement)) return;
  for (const choice of form.elements.condition) choice.checked = choice.value === network.condition;
  form.elements.delay_ms.value = network.delay_ms;
}

async function setNetwork(form) {
  if (!form.reportValidity()) return;
  const said = form.querySelector(".said");
  try {
    const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)), redirect: "manual" });
    put(said, answer.type === "opaqueredirect" ? "The network setting was changed." : `Not set: ${await answer.text()}`);
  } catch {
    put(said, "Not set: the demo does not answer.");
  }
}

const networks = document.querySelectorAll("form.network");
for (const form of networks) {
  form.querySelector("button").hidden = true; // a choice is enough
  form.addEventListener("change", () => setNetwork(form));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    setNetwork(form);
  });
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
  for (const [id, name] of Object.entries({ bare: "unprotected", guarded: "guarded", kept: "protected", scripts: "scripts", paged: "paged" })) {
    showCounts(`${id}-counts`, state[name]);
    put(document.querySelector(`#${id}-resent [data-count=resent]`), String(state.networks[name].resent));
  }
  for (const form of networks) showNetwork(form, state.networks[form.dataset.copy]);
  showDecisions(state.decisions);
};
