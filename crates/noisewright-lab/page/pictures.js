// The pictures: densities with the noise's handles, the weight and a(x) below them, the error over the proportion of noise.

const KEYS = [["data", "data p_d"], ["noise", "noise p_n"], ["optimum", "the optimum"], ["limit", "the all-noise limit"]];

function pictureSection(app) {
  const began = time => { if (app.began === null) app.began = Math.min(time, performance.now()); };
  const chart = (id, label, role = "group") => svgElement("svg", { id, class: "chart", role, "aria-label": label });
  const density = chart(app.id("nw-density"), "Densities of data, noise and optimum, with handles that move the noise");
  const weight = chart(app.id("nw-weight"), "Weight of a data point", "img");
  const gain = chart(app.id("nw-sensitivity"), "a(x), what a noise point gains at each place", "img");
  const curve = chart(app.id("nw-curve"), "Error against the proportion of noise, with a handle for ν");
  const legend = h("p", { class: "legend" }, ...KEYS.map(([name, words]) => h("span", { class: `key ${name}` }, words)));
  const lower = h("div", { class: "pair" },
    h("figure", {}, h("div", {}, weight), h("figcaption", {}, h("span", { class: "key weight" }, "w(x), the weight of a data point"))),
    h("figure", {}, h("div", {}, gain), h("figcaption", {}, h("span", { class: "key a" }, "a(x), what noise gains there"), " ", h("span", { class: "key level" }, "μ/ν: the optimum puts noise where a is above"))));
  const box = h("section", { "aria-label": "pictures" }, h("figure", {}, legend, h("div", {}, density), h("figcaption", {}, "Drag the knobs: the peak moves the noise, the side its width, the low one its tails; with several parts, up and down moves weight. Arrow keys do the same.")),
    lower, h("figure", {}, h("div", {}, curve), h("figcaption", {}, h("span", { class: "key noise" }, "this noise"), " ", h("span", { class: "key optimum" }, "the best noise at each proportion"), " ", h("span", { class: "key thin" }, "noise = data"))));
  [density, curve].forEach(svg => listenToDrags(svg, began));
  return {
    box,
    show() {
      const grid = app.model?.grid;
      density.parentElement.parentElement.hidden = !grid;
      lower.hidden = !grid || !!grid.y;
      legend.hidden = !!grid?.y;
      if (grid?.y) keepingFocus(density, () => drawPlane(app, density, grid));
      else if (grid) {
        keepingFocus(density, () => drawLine(app, density, grid));
        drawWeight(app, weight, grid);
        drawGain(app, gain, grid);
      }
      keepingFocus(curve, () => drawCurve(app, curve));
    },
  };
}

/** The value of a curve at a place. */
function interpolate(xs, ys, x) {
  if (!ys?.length) return 0;
  const i = Math.min(xs.length - 2, Math.max(0, Math.floor((x - xs[0]) / (xs.at(-1) - xs[0]) * (xs.length - 1))));
  const share = Math.min(1, Math.max(0, (x - xs[i]) / (xs[i + 1] - xs[i] || 1)));
  return (ys[i] || 0) * (1 - share) + (ys[i + 1] || 0) * share;
}

const largest = lists => Math.max(1e-300, ...lists.flatMap(list => list || []).filter(Number.isFinite));

function drawLine(app, svg, grid) {
  const noise = app.look?.error?.grid?.noise, optimum = app.look?.optimum?.grid?.density, limit = app.overview?.grid?.all_noise;
  const xs = grid.x, kind = grid.listed ? "stems" : "line";
  // A spike of the optimum may be far higher than everything else: it does not flatten the rest.
  const usual = largest([grid.data, noise]), top = Math.min(largest([grid.data, noise, optimum, limit]), 2.2 * usual);
  const pad = grid.listed ? 0.5 : 0;
  const series = [{ xs, ys: grid.data, kind: grid.listed ? "stems" : "area", name: "data", shift: -5 }, { xs, ys: grid.listed ? null : grid.data, name: "data" },
    { xs, ys: limit, kind, name: "limit", shift: 5 }, { xs, ys: optimum, kind, name: "optimum", shift: 2 }, { xs, ys: noise, kind, name: "noise", shift: -2 }];
  const drawn = drawChart(svg, {
    height: 330, x: { low: xs[0] - pad, high: xs.at(-1) + pad, label: app.model.variables[0].name }, y: { low: 0, high: 1.08 * top, label: grid.listed ? "probability" : "density" },
    series, description: "densities of data, noise, optimum and all-noise limit",
  });
  if (!app.parts || Array.isArray(app.parts[0].mean)) return;
  app.parts.forEach((part, index) => lineHandles(app, drawn, part, index, xs, noise));
}

/** Knobs of one part of a noise along a line: mean (and weight), width, tails. */
function lineHandles(app, { x, y, frame, handles }, part, index, xs, noise) {
  const several = app.parts.length > 1, named = several ? ` of part ${index + 1}` : "";
  const inside = ([px, py]) => [Math.min(frame.right - 8, Math.max(frame.left, px)), Math.min(frame.bottom, Math.max(frame.top, py))];
  const height = at => y(interpolate(xs, noise, at));
  const range = xs.at(-1) - xs[0];
  const choose = act => { app.chosen = index; act(); app.moved(); };
  const positive = app.model.variables[0].domain === "positive";
  const setMean = value => { part.mean = Number((positive ? Math.max(range / 1000, value) : value).toPrecision(5)); if (Math.abs(part.mean) < range / 400) part.mean = positive ? range / 400 : 0; };
  const setSd = value => { part.sd = Number(Math.max(range / 400, Math.abs(value)).toPrecision(4)); };
  addHandle(handles, {
    key: `mean-${index}`, at: inside([x(part.mean), height(part.mean)]), label: `mean${named}`, value: part.mean, text: several ? `${shown(part.mean, 4)}, weight ${shown(part.weight, 2)}` : shown(part.mean, 4),
    move: (px, py, memo) => choose(() => {
      setMean(x.back(px));
      if (!several) return;
      memo.weight ??= part.weight;
      memo.pixel ??= py;
      setWeight(app.parts, index, memo.weight + (memo.pixel - py) / (frame.bottom - frame.top));
    }),
    step: (dx, dy) => choose(() => { setMean(part.mean + dx * range / 200); if (several && dy) setWeight(app.parts, index, part.weight + 0.02 * dy); }),
  });
  addHandle(handles, {
    key: `sd-${index}`, at: inside([x(part.mean + part.sd), height(part.mean + part.sd)]), label: `width${named}`, value: part.sd, text: shown(part.sd, 4), cls: "side",
    move: px => choose(() => setSd(x.back(px) - part.mean)), step: (dx, dy) => choose(() => setSd(part.sd * 1.02 ** (dx + dy))),
  });
  if (!hasTails(part) || index !== app.chosen) return;
  const span = 90, at = part.mean + 2.4 * part.sd;
  addHandle(handles, {
    key: `tails-${index}`, at: inside([x(at), frame.bottom - 10 - span * tailsOf(part)]), label: `tails${named}`, value: tailsOf(part), text: part.family === "student" ? `Student, ${shown(part.dof, 3)} degrees of freedom` : "normal", cls: "low",
    move: (_, py) => choose(() => setTails(part, Math.max(0, (frame.bottom - 10 - py) / span))), step: (dx, dy) => choose(() => setTails(part, Math.max(0, tailsOf(part) + 0.02 * (dx + dy)))),
  });
}

/** The axis of the variable, and how its values are drawn. */
const along = (app, grid) => ({ axis: { low: grid.x[0] - (grid.listed ? 0.5 : 0), high: grid.x.at(-1) + (grid.listed ? 0.5 : 0), label: app.model.variables[0].name }, kind: grid.listed ? "stems" : "line" });

function drawWeight(app, svg, grid) {
  const { axis, kind } = along(app, grid);
  drawChart(svg, { height: 170, x: axis, y: { low: 0, high: 1.05, label: "w(x)" }, description: "weight of a data point", series: [{ xs: grid.x, ys: app.look?.error?.grid?.weight, kind, name: "weight" }] });
}

function drawGain(app, svg, grid) {
  const { axis, kind } = along(app, grid), best = app.look?.optimum;
  const a = best?.grid?.sensitivity, level = best?.noise ? best.noise.multiplier / best.nu : null;
  const known = (a || []).filter(v => Number.isFinite(v) && v > 0);
  if (!known.length) { svg.replaceChildren(); return; }
  const high = 1.3 * Math.max(...known, level || 0), low = Math.max(Math.min(...known, level || Infinity) / 1.3, high / 1e6);
  const series = [{ xs: grid.x, ys: a, kind, name: "a", floor: 0 }];
  if (level) series.push({ xs: [0], ys: [level], kind: "level", name: "level" });
  drawChart(svg, { height: 170, x: axis, y: { low, high, log: true, label: "a(x)" }, description: "a(x)", series });
}

function drawPlane(app, svg, grid) {
  const noise = app.look?.error?.grid?.noise, optimum = app.look?.optimum?.grid?.density, limit = app.overview?.grid?.all_noise;
  const edge = places => { const half = (places[1] - places[0]) / 2; return { low: places[0] - half, high: places.at(-1) + half }; };
  const [first, second] = app.model.variables;
  const movable = app.parts && Array.isArray(app.parts[0].mean);
  const rings = movable ? app.parts.flatMap(part => [ellipse(part, 1), ellipse(part, 2)]) : [];
  const { scales, handles } = drawPlanes(svg, {
    x: { ...edge(grid.x), label: first.name }, y: { ...edge(grid.y), label: second.name }, columns: grid.x.length, rows: grid.y.length, dark: app.isDark(), rings,
    panels: [{ name: "data", title: `data p_d (${second.name} upwards)`, values: grid.data }, { name: "noise", title: "noise p_n", values: noise }, { name: "optimum", title: "the optimum", values: optimum }, { name: "limit", title: "the all-noise limit", values: limit }],
    description: "densities of data, noise, optimum and all-noise limit as heat maps",
  });
  if (movable) app.parts.forEach((part, index) => planeHandles(app, scales.noise, handles, part, index));
}

/** Knobs of one part of a noise on a plane: its centre, and its width along each variable. */
function planeHandles(app, { x, y, frame }, handles, part, index) {
  const named = app.parts.length > 1 ? ` of part ${index + 1}` : "";
  const inside = ([px, py]) => [Math.min(frame.right, Math.max(frame.left, px)), Math.min(frame.bottom, Math.max(frame.top, py))];
  const choose = act => { app.chosen = index; act(); app.moved(); };
  const digits = value => Number(value.toPrecision(4));
  const unit = [x.back(frame.right) - x.back(frame.left), y.back(frame.top) - y.back(frame.bottom)];
  const width = (axis, value) => { part.sd[axis] = digits(Math.max(unit[axis] / 200, Math.abs(value))); };
  addHandle(handles, {
    key: `mean-${index}`, at: inside([x(part.mean[0]), y(part.mean[1])]), label: `centre${named}`, value: part.mean[0], text: part.mean.map(m => shown(m, 3)).join(", "),
    move: (px, py) => choose(() => { part.mean = [digits(x.back(px)), digits(y.back(py))]; }), step: (dx, dy) => choose(() => { part.mean = [digits(part.mean[0] + dx * unit[0] / 200), digits(part.mean[1] + dy * unit[1] / 200)]; }),
  });
  [0, 1].forEach(axis => {
    const reach = [part.sd[0] * (axis === 0 ? 1 : part.rho), part.sd[1] * (axis === 1 ? 1 : part.rho)];
    addHandle(handles, {
      key: `sd-${index}-${axis}`, at: inside([x(part.mean[0] + reach[0]), y(part.mean[1] + reach[1])]), label: `width along ${app.model.variables[axis].name}${named}`, value: part.sd[axis], text: shown(part.sd[axis], 3), cls: "side",
      move: (px, py) => choose(() => width(axis, (axis === 0 ? x.back(px) : y.back(py)) - part.mean[axis])), step: (dx, dy) => choose(() => width(axis, part.sd[axis] * 1.02 ** (dx + dy))),
    });
  });
}

/** Errors against the proportion of noise, where one is, and where the best is. */
function drawCurve(app, svg) {
  const here = app.look?.error?.curve, best = app.overview?.curve, found = app.look?.error, { state } = app;
  const p = state.nu / (1 + state.nu), priced = nu => (state.price_data + nu * state.price_noise) / (1 + nu);
  const value = app.look?.error?.priced, equal = found?.error_noise_equals_data;
  const reference = equal ? equal * p * (1 - p) : null;
  const shares = Array.from({ length: 99 }, (_, i) => (i + 1) / 100);
  const data = reference ? shares.map(s => reference / (s * (1 - s)) * priced(s / (1 - s))) : [];
  const own = here ? here.error.map((e, i) => e * priced(here.noise_proportion[i] / (1 - here.noise_proportion[i]))) : [];
  const all = [...own, ...(best?.error || []), ...(Number.isFinite(value) ? [value] : [])].filter(v => Number.isFinite(v) && v > 0);
  if (!all.length) { svg.replaceChildren(); return; }
  const low = Math.min(...all, ...data) * 0.93, high = Math.max(Math.min(Math.max(...all), low * 30), (Number.isFinite(value) ? value : low) * 1.5);
  const series = [{ xs: shares, ys: data, name: "data thin" }, { xs: best?.noise_proportion || [], ys: best?.error, name: "optimum" }, { xs: here?.noise_proportion || [], ys: own, name: "noise" }];
  if (app.overview) series.push({ xs: [app.overview.noise_proportion], ys: [app.overview.error], kind: "dots", name: "optimum" });
  const drawn = drawChart(svg, { height: 250, x: { low: 0, high: 1, label: "noise proportion ν/(1+ν)", percent: true }, y: { low, high, log: true, label: "error" }, series, description: "error against the proportion of noise" });
  if (!Number.isFinite(value)) return;
  const setShare = s => { const share = Math.min(0.999, Math.max(0.001, s)); state.nu = Number((share / (1 - share)).toPrecision(5)); app.changed("nu"); };
  addHandle(drawn.handles, {
    key: "nu", at: [drawn.x(p), Math.min(drawn.frame.bottom, Math.max(drawn.frame.top, drawn.y(value)))], label: "ν", value: state.nu, text: `ν ${shown(state.nu, 5)}, error ${shown(value)}`,
    move: px => setShare(drawn.x.back(px)), step: (dx, dy) => setShare(p + 0.005 * (dx + dy)),
  });
}
