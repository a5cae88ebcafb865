// One's own data: the fit, with noise added step by step, and data sets drawn from the model.

/** "Fit this": the fit table and the report's pictures, for ν an eighth, a quarter, a half and all of what is set. */
function fitSection(app) {
  const { state, transport } = app;
  const file = h("input", { type: "file", id: app.id("nw-file"), "data-testid": "data-file", onchange: () => take(file.files[0]) });
  const name = h("span", { class: "muted", "data-testid": "data-name" });
  const button = h("button", { type: "button", class: "main", "data-testid": "fit", onclick: () => run() }, "Fit this");
  const more = h("button", { type: "button", "data-testid": "fit-more", onclick: () => { state.nu = Number((2 * state.nu).toPrecision(5)); app.changed("nu"); run(); } }, "Twice the noise");
  const adopt = h("button", { type: "button", "data-testid": "fit-adopt", onclick: () => { state.at = estimates(app.fit); app.changed("model"); } }, "Take these parameters as true");
  const stage = h("p", { class: "muted", "data-testid": "fit-stage", role: "status" });
  const table = h("div", { "data-testid": "fit-table", class: "table" });
  const words = h("div"), pictures = h("div", { class: "pictures" });
  const drop = h("div", { class: "drop" }, h("label", { for: app.id("nw-file") }, "Data file (CSV, Parquet, NPY, Stan CSV): choose it or drop it anywhere on the page"), file, name);
  const box = h("section", { class: "card", "aria-labelledby": app.id("nw-fit-title") }, h("h2", { id: app.id("nw-fit-title") }, "Fit this"), drop,
    h("div", { class: "buttons" }, button, more, adopt), stage, table, words, pictures);
  let runs = 0;
  [more, adopt].forEach(own => { own.hidden = true; });

  async function take(given) {
    if (!given) return;
    app.message(null);
    try {
      const number = await transport.addData(given.name, await given.arrayBuffer());
      state.data = { name: given.name, number };
      forget();
      show();
      app.changed("data");
    } catch (mistake) { app.message(mistake); }
  }
  function forget() {
    runs++;
    app.fit = null;
    [table, words, pictures].forEach(own => own.replaceChildren());
    stage.textContent = "";
    [more, adopt].forEach(own => { own.hidden = true; });
  }
  function show() {
    name.textContent = state.data && state.data.name !== file.files[0]?.name ? state.data.name : "";
    name.dataset.name = state.data?.name || "";
    button.disabled = !state.data;
  }
  async function run() {
    const own = ++runs, steps = [8, 4, 2, 1];
    button.disabled = true;
    app.message(null);
    for (const share of steps) {
      const nu = state.nu / share;
      stage.textContent = `Fitting with ν = ${shown(nu, 4)} …`;
      try {
        const answer = await transport.ask("fit", { ...app.question(), nu, at: undefined, data: state.data.number });
        if (own !== runs) return;
        draw(answer, nu, share === 1);
      } catch (mistake) {
        if (own !== runs || mistake.cancelled) return;
        // With little noise there may be no answer yet: the last one counts.
        if (share === 1) { forget(); app.message(mistake); }
      }
    }
    if (own === runs) button.disabled = false;
    app.shareChanged();
  }
  function draw(answer, nu, last) {
    app.fit = answer;
    table.innerHTML = answer.table;
    words.replaceChildren(...answer.warnings.map(text => h("p", { class: "warning" }, `Warning: ${text}`)), ...answer.sentences.map(text => h("p", {}, text)));
    pictures.replaceChildren(...answer.pictures.map(picture => {
      const figure = h("figure", {}, h("h3", {}, picture.heading));
      if (picture.svg) figure.insertAdjacentHTML("beforeend", picture.svg);
      figure.append(h("figcaption", {}, picture.caption));
      return figure;
    }));
    stage.textContent = last ? `Fitted with ν = ${shown(nu, 4)}: ${answer.fit.noise_points} noise points.` : `ν = ${shown(nu, 4)}; adding noise …`;
    more.hidden = adopt.hidden = !last;
    button.disabled = false;
  }
  return { box, take, show, forget };
}

/** The parameters of a fit by name. */
const estimates = answer => Object.fromEntries(Object.entries(answer.fit.parameters).map(([name, own]) => [name, own.estimate]));

/** Data sets drawn from the model and fitted: how far the estimates spread against how far they should. */
function simulationSection(app) {
  const { state, transport } = app;
  const MOST = 400, AT_ONCE = 8;
  const budget = slider({ name: "budget", label: "T, points of a data set", low: 100, high: 100000, log: true, get: () => state.budget, set: value => { if (value >= 10) { state.budget = Math.round(value); stop(); app.shareChanged(); } } });
  const button = h("button", { type: "button", class: "main", "data-testid": "simulate", onclick: () => app.simulating ? stop() : run() }, "Simulate");
  const status = h("p", { class: "muted", role: "status", "data-testid": "simulation-stage" });
  const table = h("table", { class: "numbers-table", "data-testid": "simulation-table" });
  const svg = svgElement("svg", { id: app.id("nw-simulation"), class: "chart", role: "img", "aria-label": "standardized estimates against the normal curve that theory predicts" });
  const figure = h("figure", {}, h("div", {}, svg), h("figcaption", {}, "Estimates less the truth, over the predicted standard error, all unknowns together: if theory holds they follow the curve."));
  figure.hidden = true;
  const box = h("section", { class: "card", "aria-labelledby": app.id("nw-simulation-title") }, h("h2", { id: app.id("nw-simulation-title") }, "Simulation"),
    h("p", { class: "muted" }, "Data sets are drawn from the model at these parameters, each with noise of its own, and fitted."),
    budget.box, h("div", { class: "buttons" }, button), status, table, figure);
  let runs = 0;

  function stop() {
    runs++;
    app.simulating = false;
    button.textContent = "Simulate";
  }
  async function run() {
    const own = ++runs, asked = app.question(), look = app.look?.error;
    if (!look?.coordinates) return;
    app.simulating = true;
    button.textContent = "Stop";
    app.message(null);
    const found = [];
    let refused = 0;
    for (let first = 0; first < MOST && own === runs; first += AT_ONCE) {
      let answer;
      try {
        answer = await transport.ask("simulate", { ...asked, budget: state.budget, first, count: AT_ONCE });
      } catch (mistake) {
        if (own === runs && !mistake.cancelled) app.message(mistake);
        break;
      }
      if (own !== runs) return;
      answer.estimates.forEach(set => { if (set) found.push(set); else refused++; });
      draw(look, found, answer.rows, refused);
    }
    if (own === runs) stop();
  }
  function draw(look, found, rows, refused) {
    const truth = look.coordinates.map(name => name === "log_normalizer" ? look.log_normalizer : (app.model.parameters.find(p => p.name === name) || {}).value);
    const predicted = look.coordinates.map((_, j) => Math.sqrt(look.covariance[j][j] / rows));
    const spread = look.coordinates.map((_, j) => {
      const values = found.map(set => set[j]), mean = values.reduce((s, v) => s + v, 0) / values.length;
      return { mean, sd: Math.sqrt(values.reduce((s, v) => s + (v - mean) ** 2, 0) / Math.max(1, values.length - 1)) };
    });
    status.textContent = `${found.length} data sets of ${rows} rows with ${Math.round(rows * state.nu)} noise points${refused ? `; ${refused} gave no answer` : ""}.`;
    const head = h("tr", {}, ...["", "truth", "mean", "predicted se", "observed sd", "ratio"].map(text => h("th", { scope: "col" }, text)));
    table.replaceChildren(h("thead", {}, head), h("tbody", {}, ...look.coordinates.map((name, j) => h("tr", {}, h("th", { scope: "row" }, name),
      ...[truth[j], spread[j].mean, predicted[j], spread[j].sd].map(v => h("td", {}, shown(v, 4))),
      h("td", { "data-testid": `spread-${name}` }, found.length > 1 ? `${shown(spread[j].sd / predicted[j], 3)} ± ${shown(1 / Math.sqrt(2 * (found.length - 1)), 1)}` : "–")))));
    figure.hidden = false;
    histogram(found.flatMap(set => set.map((v, j) => (v - truth[j]) / predicted[j])).filter(Number.isFinite));
  }
  function histogram(scores) {
    const bins = 32, low = -4, high = 4, counts = new Array(bins).fill(0);
    scores.forEach(z => { const i = Math.floor((z - low) / (high - low) * bins); if (i >= 0 && i < bins) counts[i]++; });
    const width = (high - low) / bins, heights = counts.map(c => c / scores.length / width);
    const xs = [], ys = [];
    heights.forEach((v, i) => { xs.push(low + i * width, low + (i + 1) * width); ys.push(v, v); });
    const curve = Array.from({ length: 161 }, (_, i) => low + i * (high - low) / 160);
    drawChart(svg, {
      height: 220, x: { low, high, label: "standardized estimate" }, y: { low: 0, high: 1.1 * Math.max(0.4, ...heights), label: "density" },
      description: "standardized estimates against the normal curve",
      series: [{ xs, ys, kind: "area", name: "data" }, { xs, ys, name: "data" }, { xs: curve, ys: curve.map(z => Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI)), name: "optimum" }],
    });
  }
  return { box, stop, show() { budget.show(); } };
}
