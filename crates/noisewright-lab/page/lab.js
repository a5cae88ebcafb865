// The lab itself: one state, what is asked for it, and how the answers are drawn.

/** Asks questions of one kind, one at a time: while one is answered only the newest other waits, unless it is quick and
    the one that is answered is not, which then gives way. */
function asker(transport, kind, done, failed) {
  let busy = null, next = null;
  async function send(question) {
    busy = question;
    try {
      const answer = await transport.ask(kind, question);
      // An answer that a newer question waits behind is drawn all the same: the picture follows the hand.
      if (busy === question) done(answer, question);
    } catch (mistake) {
      if (busy === question && !mistake.cancelled && !next) failed(mistake, question);
    }
    if (busy !== question) return;
    busy = null;
    if (next) { const newest = next; next = null; send(newest); }
  }
  return question => { if (busy && (busy.quick || !question.quick)) next = question; else send(question); };
}

/** How many labs a page has: a notebook may have several, whose elements have names of their own. */
let mounts = 0;

/** Puts the lab into an element. `transport` has `ask(kind, question)` and `addData(name, bytes)`. */
export async function mount(root, transport) {
  const started = await transport.ask("start", {});
  const state = { ...DEFAULTS, model: "", name: "model.toml", example: null, at: null, data: null };
  const app = { root, transport, state, started, parts: null, chosen: 0, model: null, look: null, overview: null, fit: null, latencies: [], began: null };
  const suffix = mounts++ ? `-${mounts}` : "";
  app.id = name => name + suffix;
  let given = false;
  if (started.model) Object.assign(state, { model: started.model.text, name: started.model.name });
  else takeExample(state, started.examples.find(own => own.name === "quartic") || started.examples[0]);
  if (started.noise) { state.noise = started.noise; given = true; }
  if (Object.keys(started.at).length) state.at = started.at;
  if (started.nu) state.nu = started.nu;
  if (transport.hash?.()) given = readAddress(transport.hash(), state, started) || given;
  if (started.data) state.data = started.data;
  app.freshNoise = !given;
  build(app);
  app.changed("model");
  return app;
}

/** What an example begins with. */
const FIRST_NOISES = { quartic: "normal(0, 4)" };

function build(app) {
  const { root, state, transport } = app;
  root.classList.add("nw-lab");
  behave(app);
  const noise = noiseControls(app), design = designControls(app), parameters = parameterControls(app), editor = modelEditor(app);
  const fit = fitSection(app), simulation = simulationSection(app), share = shareSection(app), numbersBox = numberCards(app), pictures = pictureSection(app);
  const message = h("div", { class: "message", role: "alert", "data-testid": "message", hidden: true });
  const spoken = h("div", { class: "hidden", role: "status", "data-testid": "spoken" });
  Object.assign(app, { noise, design, parameters, editor, fitBox: fit, simulation, share, numbersBox, pictures, messageBox: message, spoken });
  root.replaceChildren(header(app), message, spoken,
    h("main", {}, h("div", { class: "columns" },
      h("div", { class: "stage" }, numbersBox.box, pictures.box),
      h("div", { class: "controls" }, noise.box, design.box, parameters.box, editor.box)),
    fit.box, simulation.box, share.box));
  root.addEventListener("dragover", event => { event.preventDefault(); root.classList.add("dropping"); });
  root.addEventListener("dragleave", event => { if (event.target === root) root.classList.remove("dropping"); });
  root.addEventListener("drop", event => {
    event.preventDefault();
    root.classList.remove("dropping");
    dropped(app, event.dataTransfer.files[0]);
  });
  addEventListener("resize", () => app.draw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => app.draw());
  transport.onHash?.(() => { readAddress(transport.hash(), state, app.started); app.readParts(); app.changed("model"); });
}

/** A model file or a data file that was dropped. */
async function dropped(app, file) {
  if (!file) return;
  if (!file.name.endsWith(".toml")) return app.fitBox.take(file);
  Object.assign(app.state, { model: await file.text(), name: file.name, example: null, at: null });
  app.freshNoise = true;
  app.changed("model");
}

function header(app) {
  const { state, started } = app;
  const examples = choice({ name: "example", label: "example", options: [["", "your own"], ...started.examples.map(own => [own.name, `${own.name}: ${own.about}`])], set: value => {
    const example = started.examples.find(own => own.name === value);
    if (!example) return;
    takeExample(state, example);
    Object.assign(state, { target: "mse" });
    app.freshNoise = true;
    app.fitBox.forget();
    app.changed("model");
  } });
  app.examples = examples;
  const themes = ["auto", "light", "dark"];
  const theme = h("button", { type: "button", class: "plain", "data-testid": "theme", onclick: () => {
    const next = themes[(themes.indexOf(app.root.dataset.theme || "auto") + 1) % 3];
    app.root.dataset.theme = next;
    theme.textContent = `colours: ${next}`;
    app.draw();
  } }, "colours: auto");
  return h("header", {}, h("div", {}, h("h1", {}, "The lab"), h("p", { class: "muted" }, "Drag the noise. Its error, the best noise and your fit follow.")),
    h("div", { class: "head-tools" }, examples.box, theme));
}

/** What changes, and what is asked then. */
function behave(app) {
  const { state, transport } = app;
  const isDark = () => app.root.dataset.theme === "dark" || (app.root.dataset.theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  app.isDark = isDark;
  app.question = () => {
    const { model, noise, nu, loss, loss_ratio, target, price_data, price_noise, seed } = state;
    return { model, noise, nu, loss, loss_ratio, target, price_data, price_noise, seed, at: state.at ? Object.entries(state.at) : [] };
  };
  app.readParts = () => {
    app.parts = readNoise(state.noise);
    app.chosen = Math.min(app.chosen, Math.max(0, (app.parts?.length || 1) - 1));
  };
  app.setNoise = words => { state.noise = words; app.readParts(); app.changed("noise"); };
  app.moved = () => { state.noise = writeNoise(app.parts); app.changed("noise"); };
  app.addPart = () => {
    // To the left of the last, and wider, so that no knob covers another.
    const last = app.parts.at(-1), plane = Array.isArray(last.mean), digits = value => Number(value.toPrecision(4));
    const mean = plane ? last.mean.map((m, i) => digits(m - last.sd[i])) : digits(last.mean - last.sd);
    const sd = plane ? last.sd.map(s => digits(1.5 * s)) : digits(1.5 * last.sd);
    const inside = app.model.variables[0].domain === "positive" ? Math.max(mean, last.mean / 2) : mean;
    app.parts.push({ ...last, mean: plane ? mean : inside, sd, weight: 0.3 });
    setWeight(app.parts, app.parts.length - 1, 0.3);
    app.chosen = app.parts.length - 1;
    app.moved();
  };
  app.removePart = () => {
    app.parts.splice(app.chosen, 1);
    setWeight(app.parts, 0, app.parts[0].weight);
    if (app.parts.length === 1) app.parts[0].weight = 1;
    app.chosen = 0;
    app.moved();
  };
  app.message = mistake => {
    const inPlace = mistake?.field === "model" || mistake?.field === "noise";
    app.messageBox.hidden = !mistake;
    app.messageBox.textContent = mistake?.message || "";
    if (!mistake || inPlace) {
      app.editor.mistake(mistake?.field === "model" ? mistake : null);
      app.noise.mistake(mistake?.field === "noise" ? mistake : null);
    }
  };
  const askModel = asker(transport, "model", (answer, question) => tookModel(app, answer, question), mistake => modelFailed(app, mistake));
  const askLook = asker(transport, "look", answer => tookLook(app, answer), mistake => app.message(mistake));
  const askOverview = asker(transport, "overview", answer => { app.overview = answer; app.draw(); }, () => { app.overview = null; app.draw(); });
  // On a plane the optimum and the curve over ν take longer than a hand waits for: they are asked for when it rests.
  let resting;
  app.askLook = () => {
    const quick = app.model?.variables.length > 1;
    askLook({ ...app.question(), quick });
    clearTimeout(resting);
    if (quick) resting = setTimeout(() => askLook(app.question()), 250);
  };
  // In many variables the search takes longer than anybody waits for unasked.
  app.askOverview = asked => { if (asked || app.model?.variables.length <= 2) askOverview(app.question()); };
  /** `model`: the text or the parameters; `aim`: target or prices; `nu`, `noise`: the rest. */
  app.changed = kind => {
    if (app.began === null) app.began = performance.now();
    app.simulation?.stop();
    if (kind === "model") askModel(app.question());
    else if (kind !== "data") {
      app.askLook();
      if (kind === "aim") app.askOverview();
    }
    app.show();
    app.shareChanged();
  };
  let sharing;
  app.shareChanged = () => {
    clearTimeout(sharing);
    sharing = setTimeout(() => { app.share.show(); transport.setHash?.(writeAddress(state, app.started)); }, 150);
  };
  // Controls are shown anew once a frame, however often a hand moves within it.
  let showing = false;
  app.show = () => {
    if (showing) return;
    showing = true;
    requestAnimationFrame(() => { showing = false; showNow(); });
  };
  const showNow = () => {
    [app.noise, app.design, app.parameters, app.editor, app.fitBox, app.simulation].forEach(own => own.show());
    app.examples.show(app.started.examples.find(own => own.model === state.model)?.name || "");
  };
  app.draw = () => { app.numbersBox.show(); app.pictures.show(); };
}

function tookModel(app, answer, question) {
  const { state } = app;
  app.model = answer;
  if (question.model !== app.drawn) { app.overview = app.look = null; app.drawn = question.model; }
  app.message(null);
  const [first] = answer.variables;
  if (app.freshNoise) {
    app.freshNoise = false;
    state.noise = FIRST_NOISES[app.started.examples.find(own => own.model === state.model)?.name] || firstNoise(answer.variables);
  }
  if (!["mse", "kl", ...answer.coordinates].includes(state.target) && !state.target.includes(",")) state.target = "mse";
  app.readParts();
  const reach = Math.max(...answer.variables.map(own => 5 * own.sd)) || 5;
  app.noise.range(first.mean - reach, first.mean + reach);
  app.show();
  app.draw();
  app.askLook();
  app.askOverview();
  app.shareChanged();
}

/** A model whose start values have no density may have one where its data want it. */
async function modelFailed(app, mistake) {
  const { state } = app;
  app.message(mistake);
  if (mistake.field || state.at || !state.data) return;
  try {
    const answer = await app.transport.ask("fit", { ...app.question(), noise: "auto", nu: 10, data: state.data.number });
    state.at = estimates(answer);
    app.changed("model");
  } catch (second) {
    if (!second.cancelled) app.message(second);
  }
}

function tookLook(app, answer) {
  const began = app.began;
  app.began = null;
  if (!answer.error.mistake && !answer.error.curve) answer.error.curve = app.look?.error?.curve;
  // The optimum of another ν is shown on, but its number is not this one's.
  if (!answer.optimum) answer.optimum = { ...app.look?.optimum, stale: true };
  app.look = answer;
  const mistake = answer.error.mistake || answer.optimum.mistake;
  if (mistake) app.message(mistake); else app.message(null);
  app.draw();
  if (began !== null) requestAnimationFrame(now => { app.latencies.push(Math.max(0, now - began)); });
  clearTimeout(app.speaking);
  app.speaking = setTimeout(() => { app.spoken.textContent = mistake || answer.optimum.stale ? "" : `Error ${shown(answer.error.error)}, best at this ν ${shown(answer.optimum.error)}.`; }, 900);
}

/** The numbers: error, optimum, efficiency, the best ν, and whether all that is certain. */
function numberCards(app) {
  const card = (name, label) => {
    const value = h("output", { class: "value", "data-testid": name, "aria-live": "off" }, "–"), note = h("span", { class: "note" });
    return { box: h("div", { class: "number" }, h("span", { class: "name" }, label), value, note), value, note, label };
  };
  const error = card("error", "error × T"), optimum = card("optimum", "best noise at this ν"), efficiency = card("efficiency", "efficiency"), best = card("best-nu", "best ν");
  const certificate = h("p", { class: "certificate", "data-testid": "certificate" });
  const infinite = h("p", { class: "warning", hidden: true, "data-testid": "infinite" });
  const go = h("button", { type: "button", class: "plain", "data-testid": "go-best", onclick: () => {
    if (!app.overview) { best.value.textContent = "…"; app.askOverview(true); return; }
    app.state.nu = Number(app.overview.nu.toPrecision(5));
    app.changed("nu");
  } }, "go there");
  const parts = h("table", { class: "numbers-table", "data-testid": "parts" });
  const box = h("section", { "aria-label": "numbers" }, h("div", { class: "numbers" }, error.box, optimum.box, efficiency.box, best.box), infinite, certificate,
    h("details", {}, h("summary", {}, "Parts of the error"), parts));
  best.box.append(go);
  return {
    box,
    show() {
      const found = app.look?.error?.mistake ? null : app.look?.error, top = app.look?.optimum?.mistake || app.look?.optimum?.stale ? null : app.look?.optimum, all = app.overview;
      const priced = app.state.price_data !== 1 || app.state.price_noise !== 1;
      error.box.querySelector(".name").textContent = priced ? "error × budget" : "error × T";
      error.value.textContent = found ? shown(found.priced) : "–";
      error.note.textContent = found ? `noise = data: ${shown(found.error_noise_equals_data, 4)}` : "";
      optimum.value.textContent = top ? shown(top.error) : app.look?.optimum?.stale ? "…" : "–";
      optimum.note.textContent = found && top && top.error <= found.priced ? `${percent(1 - top.error / found.priced)} fewer points` : "";
      efficiency.value.textContent = percent(found?.efficiency, 4);
      efficiency.note.textContent = "Cramér–Rao over error";
      best.value.textContent = all ? shown(all.nu, 5) : !app.model || app.model.variables.length <= 2 ? "…" : "–";
      best.note.textContent = all ? `error ${shown(all.error)}` : "";
      const few = !app.model || app.model.variables.length <= 2;
      go.hidden = !all && few;
      go.textContent = all ? "go there" : "find it";
      infinite.hidden = !found?.infinite;
      infinite.textContent = found?.infinite ? `The error is infinite: ${found.infinite}.` : "";
      certificate.textContent = !top ? "" : top.gap !== null && top.gap !== undefined
        ? `Certified: no noise at this ν is better than the optimum by more than ${shown(100 * top.gap, 2)} %.`
        : `Not certified: the best of ${top.stationary_points} stationary point${top.stationary_points === 1 ? "" : "s"} found.`;
      const rows = found ? found.coordinates.map((name, i) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, shown(found.parts[i])), h("td", {}, shown(found.covariance[i][i])))) : [];
      parts.replaceChildren(h("thead", {}, h("tr", {}, ...["", "part of the error × T", "Σ, variance × rows"].map(text => h("th", { scope: "col" }, text)))), h("tbody", {}, ...rows));
    },
  };
}
