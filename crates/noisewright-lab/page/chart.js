// Charts as SVG: axes, lines, areas, heat maps, and handles that are moved by pointer or keys.

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = { left: 60, right: 14, top: 12, bottom: 38 };

function svgElement(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Round steps that give about so many ticks. */
function linearTicks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find(s => s * power >= rough) * power;
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}
function logTicks(low, high) {
  const ticks = [];
  for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++) {
    for (const m of high / low > 300 ? [1] : high / low > 15 ? [1, 3] : [1, 2, 3, 5, 7]) ticks.push(m * 10 ** p);
  }
  return ticks.filter(t => t >= low * 0.999 && t <= high * 1.001);
}
/** At most six characters, so that ticks never reach the name of their axis. */
function tickText(x) {
  const value = Number(x.toPrecision(3)), size = Math.abs(value);
  const text = size >= 1e4 || (size !== 0 && size < 1e-3) ? value.toExponential().replace("e+", "e") : String(value);
  return text.replace("-", "−");
}

/** A scale from values to pixels, and back. */
function scale({ low, high, log }, from, to) {
  const f = log ? Math.log : x => x, inverse = log ? Math.exp : x => x;
  const a = f(low), b = f(high);
  const at = x => from + (f(x) - a) / (b - a) * (to - from);
  at.back = pixel => inverse(a + (pixel - from) / (to - from) * (b - a));
  return at;
}

const pixel = x => Math.round(x * 10) / 10;

/** A path through points; what is not a number, or beyond all bounds, breaks it. */
function path(xs, ys, x, y, floor) {
  let out = "", open = false;
  for (let i = 0; i < xs.length; i++) {
    const v = ys[i], ok = Number.isFinite(v) && (floor === undefined || v > floor);
    if (ok) out += `${open ? "L" : "M"}${pixel(x(xs[i]))} ${pixel(Math.max(-1e4, Math.min(1e4, y(v))))}`;
    open = ok;
  }
  return out;
}

/** Axes with ticks, names and a grid. */
function axes(group, frame, x, y, options) {
  const { left, right, top, bottom } = frame;
  const line = (cls, x1, y1, x2, y2) => group.append(svgElement("line", { class: cls, x1, y1, x2, y2 }));
  const text = (cls, at, words, anchor, more = {}) =>
    group.append(svgElement("text", { class: cls, x: pixel(at[0]), y: pixel(at[1]), "text-anchor": anchor, ...more }, words));
  const xTicks = options.x.log ? logTicks(options.x.low, options.x.high) : linearTicks(options.x.low, options.x.high, Math.max(3, (right - left) / 75));
  const yTicks = options.y.log ? logTicks(options.y.low, options.y.high) : linearTicks(options.y.low, options.y.high, Math.max(2, (bottom - top) / 45));
  const form = axis => axis.percent ? v => `${Math.round(v * 100)} %` : tickText;
  let last = Infinity;
  for (const t of yTicks) {
    const place = y(t);
    line("grid", left, place, right, place);
    if (last - place >= 13) { text("tick", [left - 6, place + 4], form(options.y)(t), "end"); last = place; }
  }
  for (const t of xTicks) {
    line("axis", x(t), bottom, x(t), bottom + 4);
    text("tick", [x(t), bottom + 17], form(options.x)(t), "middle");
  }
  line("axis", left, bottom, right, bottom);
  text("label", [(left + right) / 2, bottom + 33], options.x.label, "middle");
  if (options.y.label) {
    const middle = (top + bottom) / 2;
    text("label", [10, middle], options.y.label, "middle", { transform: `rotate(-90 10 ${pixel(middle)})` });
  }
}

/** One chart in an `svg` element, as wide as its box. Gives the scales. */
function drawChart(svg, options) {
  const width = Math.max(260, svg.parentElement.clientWidth || 600), height = options.height;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  const frame = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
  const x = scale(options.x, frame.left, frame.right), y = scale(options.y, frame.bottom, frame.top);
  const group = svgElement("g");
  axes(group, frame, x, y, options);
  const clip = svgElement("g", { "clip-path": `url(#${svg.id}-clip)` });
  const box = { x: frame.left, y: frame.top, width: frame.right - frame.left, height: frame.bottom - frame.top };
  group.append(svgElement("clipPath", { id: `${svg.id}-clip` }, svgElement("rect", box)), clip);
  for (const series of options.series) addSeries(clip, series, x, y, frame);
  const title = svgElement("title", {}, options.description);
  svg.replaceChildren(title, group, svgElement("g", { class: "handles" }));
  return { x, y, frame, width, height, handles: svg.lastChild };
}

function addSeries(clip, series, x, y, frame) {
  const { xs, ys, kind = "line", name } = series;
  if (!ys || !ys.length) return;
  const cls = `series ${name}`;
  if (kind === "stems") {
    const shift = series.shift || 0;
    const d = xs.map((v, i) => Number.isFinite(ys[i]) ? `M${pixel(x(v) + shift)} ${frame.bottom}V${pixel(y(ys[i]))}` : "").join("");
    clip.append(svgElement("path", { class: `${cls} stems`, d }));
  } else if (kind === "level") {
    clip.append(svgElement("path", { class: cls, d: `M${frame.left} ${pixel(y(ys[0]))}H${frame.right}` }));
  } else if (kind === "dots") {
    xs.forEach((v, i) => clip.append(svgElement("circle", { class: cls, cx: pixel(x(v)), cy: pixel(y(ys[i])), r: series.size || 4 })));
  } else {
    const d = path(xs, ys, x, y, series.floor);
    if (kind === "area") clip.append(svgElement("path", { class: `${cls} area`, d: `${d}L${pixel(x(xs.at(-1)))} ${frame.bottom}L${pixel(x(xs[0]))} ${frame.bottom}Z` }));
    else clip.append(svgElement("path", { class: cls, d }));
  }
}

/** A handle: dragged by pointer, moved by arrow keys, told to screen readers as a slider. */
function addHandle(layer, { key, at, label, value, text, move, step, cls = "" }) {
  const handle = svgElement("g", {
    class: `handle ${cls}`, tabindex: 0, role: "slider", "aria-label": label, "aria-valuenow": value, "aria-valuetext": text,
    "aria-valuemin": -1e6, "aria-valuemax": 1e6, "data-handle": key, transform: `translate(${pixel(at[0])} ${pixel(at[1])})`,
  }, svgElement("title", {}, `${label}: ${text}`), svgElement("circle", { class: "reach", r: 18 }), svgElement("circle", { class: "knob", r: 7 }));
  handle.addEventListener("keydown", event => {
    const big = event.shiftKey ? 10 : 1;
    const by = { ArrowRight: [big, 0], ArrowLeft: [-big, 0], ArrowUp: [0, big], ArrowDown: [0, -big] }[event.key];
    if (!by) return;
    event.preventDefault();
    step(by[0], by[1]);
  });
  handle.moveTo = move;
  layer.append(handle);
}

/** Lets the handles of an `svg` be dragged; the element stays while its content is drawn anew. */
function listenToDrags(svg, began) {
  let dragged = null, memo = {};
  const place = event => {
    const box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
    return [(event.clientX - box.left) * view.width / box.width, (event.clientY - box.top) * view.height / box.height];
  };
  svg.addEventListener("pointerdown", event => {
    const handle = event.target.closest(".handle");
    if (!handle) return;
    dragged = handle.dataset.handle;
    memo = {};
    svg.setPointerCapture(event.pointerId);
    handle.focus({ preventScroll: true });
    event.preventDefault();
  });
  svg.addEventListener("pointermove", event => {
    const handle = dragged && svg.querySelector(`[data-handle="${dragged}"]`);
    if (!handle) return;
    began(event.timeStamp);
    // What a handle wants to know of where its drag began, it keeps in `memo`.
    handle.moveTo(...place(event), memo);
  });
  const end = () => { dragged = null; };
  svg.addEventListener("pointerup", end);
  svg.addEventListener("pointercancel", end);
}

/** Keeps the keyboard's place when handles are drawn anew. */
function keepingFocus(svg, draw) {
  const focused = svg.contains(document.activeElement) || svg.contains(svg.getRootNode().activeElement)
    ? (svg.getRootNode().activeElement || document.activeElement)?.dataset?.handle : null;
  draw();
  if (focused) svg.querySelector(`[data-handle="${focused}"]`)?.focus({ preventScroll: true });
}

/** Colours from paper to ink, by share of the largest: dark and light alike. */
const RAMP = {
  light: [[255, 255, 255], [190, 219, 240], [72, 150, 206], [10, 80, 150], [8, 30, 70]],
  dark: [[22, 25, 29], [22, 58, 92], [30, 110, 170], [92, 172, 242], [230, 244, 255]],
};
function rampColor(stops, share) {
  const place = Math.max(0, Math.min(1, share)) * (stops.length - 1), i = Math.min(stops.length - 2, Math.floor(place)), f = place - i;
  return stops[i].map((c, k) => Math.round(c + f * (stops[i + 1][k] - c)));
}

/** A heat map as a picture of one pixel per cell. */
function heatImage(values, columns, rows, dark) {
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
  let most = 0;
  for (const v of values) if (Number.isFinite(v) && v > most) most = v;
  const stops = dark ? RAMP.dark : RAMP.light;
  for (let i = 0; i < values.length; i++) {
    const row = rows - 1 - Math.floor(i / columns), at = 4 * (row * columns + i % columns);
    const color = rampColor(stops, most > 0 ? Math.sqrt(values[i] / most) : 0);
    image.data.set([...color, 255], at);
  }
  context.putImageData(image, 0, 0);
  return canvas.toDataURL();
}

/** Heat maps side by side over the same plane. Gives the scales of each. */
function drawPlanes(svg, options) {
  const width = Math.max(260, svg.parentElement.clientWidth || 600), count = options.panels.length;
  const across = width >= 620 ? Math.min(2, count) : 1, gap = 16;
  const side = Math.min(360, (width - across * (MARGIN.left + MARGIN.right)) / across);
  const cell = [width / across, side + MARGIN.top + MARGIN.bottom + 16 + gap];
  svg.setAttribute("viewBox", `0 0 ${width} ${cell[1] * Math.ceil(count / across)}`);
  svg.setAttribute("height", cell[1] * Math.ceil(count / across));
  const group = svgElement("g"), scales = {};
  options.panels.forEach((panel, i) => {
    const left = (i % across) * cell[0] + MARGIN.left, top = Math.floor(i / across) * cell[1] + MARGIN.top + 16;
    const frame = { left, right: left + side, top, bottom: top + side };
    const x = scale(options.x, frame.left, frame.right), y = scale(options.y, frame.bottom, frame.top);
    const part = svgElement("g");
    part.append(svgElement("text", { class: "heading", x: left, y: top - 7 }, panel.title));
    axes(part, frame, x, y, { x: options.x, y: { ...options.y, label: "" } });
    if (panel.values?.length) {
      const href = heatImage(panel.values, options.columns, options.rows, options.dark);
      part.append(svgElement("image", { href, x: left, y: top, width: side, height: side, preserveAspectRatio: "none", class: "heat" }));
    }
    const box = { x: left, y: top, width: side, height: side };
    const clip = svgElement("g", { "clip-path": `url(#${svg.id}-clip-${i})` });
    part.append(svgElement("clipPath", { id: `${svg.id}-clip-${i}` }, svgElement("rect", box)), clip);
    for (const ring of options.rings) clip.append(svgElement("path", { class: "series ring", d: path(ring.xs, ring.ys, x, y) }));
    group.append(part);
    scales[panel.name] = { x, y, frame };
  });
  svg.replaceChildren(svgElement("title", {}, options.description), group, svgElement("g", { class: "handles" }));
  return { scales, handles: svg.lastChild };
}

/** The ellipse at so many standard deviations of a part in two variables. */
function ellipse({ mean, sd, rho }, reach) {
  const xs = [], ys = [];
  for (let i = 0; i <= 72; i++) {
    const t = i / 36 * Math.PI, u = Math.cos(t), v = rho * u + Math.sqrt(Math.max(0, 1 - rho * rho)) * Math.sin(t);
    xs.push(mean[0] + reach * sd[0] * u);
    ys.push(mean[1] + reach * sd[1] * v);
  }
  return { xs, ys };
}
