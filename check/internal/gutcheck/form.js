// One expression: a function that finds the form and does something with it. given has the values of fields by name.
(css, act, given, n) => {
  const buttons = "button:not([type=button]):not([type=reset]),input[type=submit],input[type=image]";
  const others = "button,[role=button],input[type=button]";
  const shown = (element) => element.getClientRects().length > 0;
  const password = (form) => form.querySelector("[type=password]");
  const search = (form) => form.matches("[role=search]") || form.querySelector("[type=search]");
  const posted = (form) => form.getAttribute("method")?.toLowerCase() === "post"; // a field may be named method
  const within = (root) => (root.elements ? [...root.elements] : [...root.querySelectorAll("button,input,select,textarea")]);
  let root, button;
  if (css) {
    let found;
    try {
      found = document.querySelector(css);
    } catch {
      return { wrong: `--form ${css} is no CSS selector` };
    }
    if (!found) return { wrong: `nothing on the page matches --form ${css}` };
    if (found.matches(`${buttons},${others}`)) button = found;
    root = found.form ?? found.closest("form") ?? (button ? found.closest("fieldset,dialog,section,main,body") : found);
  } else {
    const forms = [...document.forms].filter((form) => !password(form) && !search(form) && (within(form).some(shown)));
    const posts = forms.filter(posted);
    const fitting = posts.length > 0 ? posts : forms;
    if (fitting.length !== 1) return { wrong: `${fitting.length === 0 ? "no form" : `${fitting.length} forms`} of the page may be the one: name it, or its button, with --form CSS` };
    [root] = fitting;
  }
  const all = within(root);
  button ??= all.find((element) => element.matches(buttons) && shown(element)) ?? [...root.querySelectorAll(others)].find(shown);
  if (!button) return { wrong: "the form has no button to press: name it with --form CSS" };
  const fields = all.filter((element) => element.matches("input,select,textarea") && !element.disabled && !element.matches("[type=hidden],[type=submit],[type=image],[type=button],[type=reset]"));
  const nameOf = (field) => field.name || field.id || field.type;
  const set = (field, value) => {
    if (field.value === value) return;
    const kind = field instanceof HTMLTextAreaElement ? HTMLTextAreaElement : field instanceof HTMLSelectElement ? HTMLSelectElement : HTMLInputElement;
    Object.getOwnPropertyDescriptor(kind.prototype, "value").set.call(field, value); // as React wants it
    for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, { bubbles: true }));
  };
  const plausible = (field) => {
    const about = [field.name, field.id, field.autocomplete, field.inputMode, ...[...(field.labels ?? [])].map((label) => label.textContent)].join(" ").toLowerCase();
    const word = `semel-check ${n}`;
    const day = new Date().toISOString().slice(0, 10);
    const typed = {
      email: `semel-check-${n}@example.com`, number: field.min || "1", range: field.value, date: field.min || day, "datetime-local": field.min || `${day}T12:00`,
      month: day.slice(0, 7), week: `${day.slice(0, 4)}-W01`, time: "12:00", tel: "+46701234567", url: "https://example.com/", color: field.value,
    }[field.type];
    if (typed !== undefined) return typed;
    if (/e-?mail/.test(about)) return `semel-check-${n}@example.com`;
    if (/decimal|amount|price|total|sum\b|cost/.test(about)) return "12.50";
    if (/numeric|quantity|qty|count|number of/.test(about)) return "1";
    if (/date/.test(about)) return day;
    if (/phone|mobile/.test(about)) return "+46701234567";
    return field.maxLength > 0 ? word.slice(-field.maxLength) : word;
  };
  const fill = (field) => {
    const value = given[field.name] ?? given[field.id];
    if (field.type === "checkbox") {
      if (!field.checked && (value !== undefined || field.required)) field.click();
    } else if (field.type === "radio") {
      const group = fields.filter((one) => one.type === "radio" && one.name === field.name);
      if (value !== undefined ? field.value === value && !field.checked : group[0] === field && !group.some((one) => one.checked)) field.click();
    } else if (value !== undefined) {
      set(field, value);
    } else if (field.matches("select")) {
      const choice = [...field.options].find((option) => option.value !== "" && !option.disabled);
      if (field.value === "" && choice && !field.multiple) set(field, choice.value);
    } else if (field.value === "" && field.type !== "file" && field.type !== "password" && !field.readOnly) {
      set(field, plausible(field));
    }
  };
  switch (act) {
    case "fill":
      fields.forEach(fill);
      return { invalid: root.noValidate ? [] : fields.filter((field) => field.willValidate && !field.validity.valid).map(nameOf) };
    case "focus": {
      const text = fields.find((field) => field.matches("input:not([type=checkbox]):not([type=radio]):not([type=file]):not([type=color]):not([type=range])") && shown(field));
      (text ?? button).focus();
      return {};
    }
    case "place": {
      button.scrollIntoView({ block: "center", behavior: "instant" });
      const { left, top, width, height } = button.getBoundingClientRect();
      return { x: left + width / 2, y: top + height / 2 };
    }
  }
  const native = root.matches("form") && posted(root);
  return {
    label: (button.textContent || button.value || button.ariaLabel || "").trim().replace(/\s+/g, " ").slice(0, 40),
    sends: native ? `POST ${new URL(root.getAttribute("action") ?? "", document.baseURI).pathname}` : "",
    fields: fields.map(nameOf),
  };
}
