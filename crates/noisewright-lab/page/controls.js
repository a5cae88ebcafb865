// What is set by hand: the sliders with their numbers, the noise's parts, the model's text.

/** An element; `on…` are listeners, everything else is an attribute. */
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter(child => child !== undefined && child !== null));
  return element;
}

/** A number for people: six digits, and what cannot be written as one in words. */
function shown(x, digits = 6) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const size = Math.abs(x);
  const text = size !== 0 && (size >= 1e7 || size < 1e-4) ? String(Number(x.toPrecision(digits)).toExponential()) : String(Number(x.toPrecision(digits)));
  return text.replace("-", "−").replace("e+", "e");
}
const percent = (x, digits = 3) => x === null || x === undefined || !Number.isFinite(x) ? "–" : `${shown(100 * x, digits)} %`;

let labels = 0;

/** A slider with its number beside it; `log` for what is multiplied rather than added. */
function slider({ name, label, low, high, log, get, set, hint }) {
  const id = `nw-${name}-${++labels}`;
  const to = log ? x => Math.log10(x) : x => x, from = log ? x => 10 ** x : x => x;
  const range = h("input", { type: "range", "aria-label": label, "data-testid": `${name}-slider`, step: "any" });
  const number = h("input", { type: "number", id, step: "any", "data-testid": name, inputmode: "decimal" });
  const box = h("div", { class: "slider" }, h("label", { for: id, title: hint }, label), range, number);
  const bounds = (least, most) => {
    range.min = to(least);
    range.max = to(most);
    range.step = (to(most) - to(least)) / 1000;
  };
  bounds(low, high);
  range.addEventListener("input", () => set(Number(from(Number(range.value)).toPrecision(log ? 5 : 4)), true));
  number.addEventListener("input", () => { if (number.value !== "" && Number.isFinite(number.valueAsNumber)) set(number.valueAsNumber, false); });
  return {
    box, number, range, bounds,
    show() {
      const value = get();
      box.hidden = value === undefined || value === null;
      if (box.hidden) return;
      range.value = to(value);
      if (document.activeElement !== number && number.getRootNode().activeElement !== number) number.value = Number(value.toPrecision(6));
      range.setAttribute("aria-valuetext", shown(value));
    },
    enable(yes) { range.disabled = number.disabled = !yes; },
  };
}

function choice({ name, label, options, set }) {
  const id = `nw-${name}-${++labels}`;
  const select = h("select", { id, "data-testid": name, onchange: () => set(select.value) });
  const box = h("div", { class: "choice" }, h("label", { for: id }, label), select);
  let offered = "";
  const offer = list => {
    if (offered === (offered = list.join("\n"))) return;
    select.replaceChildren(...list.map(([value, words]) => h("option", { value }, words)));
  };
  offer(options);
  return { box, select, offer, show(value) { select.value = value; } };
}

const LOSSES = [["js", "js (logistic)"], ["kl", "kl"], ["reverse-kl", "reverse-kl"], ["hellinger", "hellinger"], ["pearson", "pearson"], ["brier", "brier"]];

/** The fieldset of the noise: its words, and the numbers of the part that is chosen. */
function noiseControls(app) {
  const { state } = app;
  const part = () => app.parts?.[app.chosen];
  const axis = (field, index) => ({
    get: () => { const p = part(); return p && (Array.isArray(p[field]) ? p[field][index] : index === 0 ? p[field] : undefined); },
    set: value => {
      if (field === "sd" && !(value > 0)) return;
      const p = part();
      if (Array.isArray(p[field])) p[field][index] = value; else p[field] = value;
      app.moved();
    },
  });
  const controls = {
    mean: slider({ name: "noise-mean", label: "mean", low: -5, high: 5, ...axis("mean", 0) }),
    mean2: slider({ name: "noise-mean-2", label: "mean 2", low: -5, high: 5, ...axis("mean", 1) }),
    sd: slider({ name: "noise-sd", label: "width", low: 0.1, high: 10, log: true, ...axis("sd", 0), hint: "standard deviation of a normal, scale of the others" }),
    sd2: slider({ name: "noise-sd-2", label: "width 2", low: 0.1, high: 10, log: true, ...axis("sd", 1) }),
    rho: slider({ name: "noise-correlation", label: "correlation", low: -0.98, high: 0.98, get: () => part()?.rho, set: value => { if (Math.abs(value) < 1) { part().rho = value; app.moved(); } } }),
    tails: slider({
      name: "noise-tails", label: "tails", low: 0, high: 1, hint: "0 is a normal; above, one over the degrees of freedom of a Student",
      get: () => part() && hasTails(part()) ? tailsOf(part()) : undefined, set: value => { setTails(part(), value); app.moved(); },
    }),
    weight: slider({ name: "noise-weight", label: "weight", low: 0.01, high: 0.99, get: () => app.parts?.length > 1 ? part().weight : undefined, set: value => { setWeight(app.parts, app.chosen, value); app.moved(); } }),
  };
  const words = h("input", { type: "text", id: app.id("nw-noise-words"), "data-testid": "noise-words", spellcheck: "false", autocomplete: "off", "aria-describedby": app.id("nw-noise-message") });
  words.addEventListener("input", () => app.setNoise(words.value));
  const message = h("p", { class: "mistake", id: app.id("nw-noise-message"), "data-testid": "noise-message", hidden: true });
  const family = choice({ name: "noise-family", label: "family", options: [], set: value => { const p = part(); p.family = value; if (value === "student") p.dof = 5; app.moved(); } });
  const which = choice({ name: "noise-part", label: "part", options: [], set: value => { app.chosen = Number(value); app.show(); } });
  const add = h("button", { type: "button", "data-testid": "noise-add", onclick: () => app.addPart() }, "Add a part");
  const remove = h("button", { type: "button", "data-testid": "noise-remove", onclick: () => app.removePart() }, "Remove it");
  const named = [["optimal", "the optimum"], ["all-noise", "the all-noise limit"], ["data", "the model itself"], ["auto", "automatic"]];
  const quick = named.map(([value, text]) => h("button", { type: "button", class: "plain", "data-testid": `noise-${value}`, onclick: () => app.setNoise(value) }, text));
  const back = h("button", { type: "button", class: "plain", "data-testid": "noise-by-hand", onclick: () => app.setNoise(firstNoise(app.model.variables)) }, "by hand");
  const box = h("fieldset", {}, h("legend", {}, "Noise"),
    h("div", { class: "choice" }, h("label", { for: app.id("nw-noise-words") }, "in words"), words), message,
    which.box, family.box, ...Object.values(controls).map(control => control.box),
    h("div", { class: "buttons" }, add, remove), h("div", { class: "buttons" }, h("span", { class: "muted" }, "Or:"), back, ...quick));
  return {
    box,
    range(low, high) {
      for (const control of [controls.mean, controls.mean2]) control.bounds(low, high);
      for (const control of [controls.sd, controls.sd2]) control.bounds((high - low) / 200, high - low);
    },
    show() {
      if (document.activeElement !== words && words.getRootNode().activeElement !== words) words.value = state.noise;
      Object.values(controls).forEach(control => control.show());
      const several = app.parts?.length > 1, p = part();
      which.box.hidden = !several;
      which.offer((app.parts || []).map((own, i) => [String(i), `${i + 1}: ${own.family}`]));
      which.show(String(app.chosen));
      const plane = p && Array.isArray(p.mean);
      const known = plane ? ["normal", "student"] : FAMILIES_OF[app.model?.variables[0].domain] || [];
      family.box.hidden = !p || known.length < 2;
      family.offer(known.map(name => [name, name]));
      family.show(p?.family);
      add.hidden = !p;
      remove.hidden = !several;
      back.hidden = !!p || !app.model || firstNoise(app.model.variables) === "auto";
    },
    mistake(found) {
      message.hidden = !found;
      message.textContent = found?.message || "";
      words.setAttribute("aria-invalid", found ? "true" : "false");
    },
  };
}

/** The fieldset of everything else: ν, M, loss, target, prices. */
function designControls(app) {
  const { state } = app;
  const positive = (field, kind) => value => { if (value > 0) { state[field] = value; app.changed(kind); } };
  const nu = slider({ name: "nu", label: "ν, noise per datum", low: 1e-3, high: 1e3, log: true, get: () => state.nu, set: positive("nu", "nu") });
  const ratio = slider({ name: "loss-ratio", label: "M in the loss", low: 1e-2, high: 1e4, log: true, get: () => state.loss_ratio ?? state.nu, set: positive("loss_ratio", "nu"), hint: "the ratio inside the loss js; ν unless set" });
  const same = h("input", { type: "checkbox", "data-testid": "loss-ratio-auto", id: app.id("nw-ratio-auto") });
  same.addEventListener("change", () => { state.loss_ratio = same.checked ? null : state.nu; app.changed("nu"); });
  const loss = choice({ name: "loss", label: "loss", options: LOSSES, set: value => { state.loss = value; if (value !== "js") state.loss_ratio = null; app.changed("nu"); } });
  const target = choice({ name: "target", label: "target", options: [], set: value => { state.target = value; app.changed("aim"); } });
  const data = slider({ name: "price-data", label: "price of a datum", low: 0.01, high: 100, log: true, get: () => state.price_data, set: positive("price_data", "aim") });
  const noise = slider({ name: "price-noise", label: "price of a noise point", low: 0.01, high: 100, log: true, get: () => state.price_noise, set: positive("price_noise", "aim") });
  const box = h("fieldset", {}, h("legend", {}, "Design"), nu.box,
    loss.box, h("div", { class: "check" }, same, h("label", { for: app.id("nw-ratio-auto") }, "M = ν, as in the paper")), ratio.box, target.box, data.box, noise.box);
  return {
    box,
    show() {
      [nu, data, noise].forEach(control => control.show());
      loss.show(state.loss);
      target.offer([["mse", "mse: all unknowns"], ["kl", "kl: the distribution"], ...(app.model?.coordinates || []).map(name => [name, `${name} alone`])]);
      target.show(state.target);
      same.checked = state.loss_ratio === null;
      same.disabled = state.loss !== "js";
      ratio.show();
      ratio.box.hidden = state.loss_ratio === null;
    },
  };
}

/** The fieldset of the parameters that are taken to be true. */
function parameterControls(app) {
  const { state } = app;
  const list = h("div");
  const box = h("fieldset", {}, h("legend", {}, "Parameters taken to be true"), list);
  let names = "", sliders = [];
  return {
    box,
    show() {
      const parameters = app.model?.parameters || [];
      if (names !== parameters.map(p => p.name).join("\u0000")) {
        names = parameters.map(p => p.name).join("\u0000");
        sliders = parameters.slice(0, 12).map((p, index) => {
          const reach = 3 * Math.max(Math.abs(p.value), 0.3);
          const low = Math.max(p.value - reach, Number.isFinite(p.lower) ? p.lower : -Infinity);
          const high = Math.min(p.value + reach, Number.isFinite(p.upper) ? p.upper : Infinity);
          const now = () => (app.model.parameters[index] || p).value;
          const own = slider({ name: `at-${p.name}`, label: p.name, low, high, get: () => state.at?.[p.name] ?? now(), set: value => {
            state.at = { ...Object.fromEntries(app.model.parameters.map(q => [q.name, q.value])), ...state.at, [p.name]: value };
            app.changed("model");
          } });
          return own;
        });
        list.replaceChildren(...sliders.map(own => own.box));
      }
      sliders.forEach(own => own.show());
      box.hidden = parameters.length === 0;
    },
  };
}

/** The model's text, with what is wrong in it underlined. */
function modelEditor(app) {
  const { state } = app;
  const text = h("textarea", { "data-testid": "model-text", id: app.id("nw-model-text"), spellcheck: "false", autocomplete: "off", rows: 9, "aria-describedby": app.id("nw-model-message") });
  const backdrop = h("pre", { class: "backdrop", "aria-hidden": "true" });
  const message = h("p", { class: "mistake", id: app.id("nw-model-message"), "data-testid": "model-message", hidden: true });
  let waiting;
  text.addEventListener("input", () => {
    state.model = text.value;
    underline(null);
    clearTimeout(waiting);
    waiting = setTimeout(() => { state.at = null; app.changed("model"); }, 250);
  });
  text.addEventListener("scroll", () => { backdrop.scrollTop = text.scrollTop; backdrop.scrollLeft = text.scrollLeft; });
  function underline(place) {
    const characters = [...text.value];
    const [from, to] = place || [characters.length, characters.length];
    backdrop.replaceChildren(characters.slice(0, from).join(""), h("mark", { "data-testid": "underline" }, characters.slice(from, to).join("")), `${characters.slice(to).join("")}\n`);
    if (!place) backdrop.querySelector("mark").remove();
  }
  const box = h("section", { class: "card", "aria-labelledby": app.id("nw-model-title") }, h("h2", { id: app.id("nw-model-title") }, "Model"),
    h("p", { class: "muted" }, "A model file: write or paste one, or drop it here. A formula is a log-density up to a constant."),
    h("label", { for: app.id("nw-model-text"), class: "hidden" }, "model file"), h("div", { class: "editor" }, backdrop, text), message);
  return {
    box, text,
    show() {
      if (text.value !== state.model && text.getRootNode().activeElement !== text) { text.value = state.model; underline(null); }
    },
    mistake(found) {
      message.hidden = !found;
      message.textContent = found?.message || "";
      text.setAttribute("aria-invalid", found ? "true" : "false");
      underline(found?.place);
    },
  };
}
