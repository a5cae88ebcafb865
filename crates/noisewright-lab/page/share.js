// What can be taken along: the address of a state, the command and the Python that give its numbers, pictures and tables.

/** What a state is unless it says otherwise. */
const DEFAULTS = { noise: "auto", nu: 1, loss: "js", loss_ratio: null, target: "mse", price_data: 1, price_noise: 1, seed: 0, budget: 2000 };

/** A state as the end of an address: what differs from the defaults, and the model's text unless an example has it. */
function writeAddress(state, started) {
  const out = new URLSearchParams();
  const example = started.examples.find(own => own.name === state.example && own.model === state.model);
  if (example) out.set("example", example.name);
  else if (started.model?.text !== state.model) out.set("model", state.model);
  if (state.at) out.set("at", Object.entries(state.at).map(([name, value]) => `${name}=${value}`).join(","));
  for (const [field, usual] of Object.entries(DEFAULTS)) if (state[field] !== usual || field === "noise") out.set(field, state[field]);
  return out.toString();
}

function readAddress(text, state, started) {
  const given = new URLSearchParams(text);
  const example = started.examples.find(own => own.name === given.get("example"));
  if (example) takeExample(state, example);
  if (given.has("model")) Object.assign(state, { model: given.get("model"), example: null, name: "model.toml" });
  if (given.has("at")) state.at = Object.fromEntries(given.get("at").split(",").map(pair => pair.split("=")).map(([name, value]) => [name, Number(value)]).filter(pair => Number.isFinite(pair[1])));
  for (const [field, usual] of Object.entries(DEFAULTS)) {
    if (!given.has(field)) continue;
    const value = given.get(field), number = Number(value);
    if (typeof usual === "string") state[field] = value;
    else if (Number.isFinite(number) && (number > 0 || field === "seed")) state[field] = number;
  }
  return given.has("noise");
}

function takeExample(state, example) {
  Object.assign(state, { example: example.name, model: example.model, name: `examples/${example.name}/model.toml`, at: null, data: example.data });
}

const quoted = text => /^[\w.,=/:+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The lines of a shell that give the numbers of the page. */
function commandLines(app) {
  const { state } = app;
  const { lines, path } = modelFile(app);
  const at = state.at ? ` --at ${quoted(Object.entries(state.at).map(([name, value]) => `${name}=${value}`).join(","))}` : "";
  const target = state.target === "mse" ? "" : ` --target ${quoted(state.target)}`;
  const seed = state.seed ? ` --seed ${state.seed}` : "";
  const loss = (state.loss === "js" ? "" : ` --loss ${state.loss}`) + (state.loss_ratio === null ? "" : ` --loss-ratio ${state.loss_ratio}`);
  const prices = (state.price_data === 1 ? "" : ` --price-data ${state.price_data}`) + (state.price_noise === 1 ? "" : ` --price-noise ${state.price_noise}`);
  const noise = ` --noise ${quoted(state.noise)} --nu ${state.nu}`;
  lines.push(`noisewright error ${path}${at}${noise}${loss}${target}${seed}`);
  lines.push(`noisewright design ${path}${at} --nu ${state.nu}${target}${prices}${seed}`);
  if (state.data) lines.push(`noisewright fit ${path} ${quoted(state.data.name)}${noise}${loss}${seed}`);
  return lines.join("\n");
}

/** Where the model's file is, and the lines that put it there. */
function modelFile(app) {
  const { state, started } = app;
  if (started.model?.text === state.model) return { lines: [], path: quoted(started.model.name) };
  const example = started.examples.find(own => own.name === state.example && own.model === state.model);
  if (example) return { lines: [`noisewright examples ${example.name} --out .`], path: state.name };
  return { lines: [`cat > model.toml <<'END'\n${state.model.replace(/\n*$/, "")}\nEND`], path: "model.toml" };
}

/** The same in Python. */
function pythonLines(app) {
  const { state, started } = app;
  const text = JSON.stringify;
  const lines = ["import noisewright as nw"];
  const example = started.examples.find(own => own.name === state.example && own.model === state.model);
  if (started.model?.text === state.model) lines.push(`model = nw.Model.from_file(${text(started.model.name)})`);
  else if (example) lines.push(`model = nw.load_example(${text(example.name)}).model`);
  else lines.push("from pathlib import Path", `Path("model.toml").write_text(${text(state.model)})`, 'model = nw.Model.from_file("model.toml")');
  const at = state.at ? `, at=${text(state.at)}` : "";
  const target = state.target === "mse" ? "" : `, target=${text(state.target)}`;
  const seed = state.seed ? `, seed=${state.seed}` : "";
  const loss = (state.loss === "js" ? "" : `, loss=${text(state.loss)}`) + (state.loss_ratio === null ? "" : `, loss_ratio=${state.loss_ratio}`);
  const prices = (state.price_data === 1 ? "" : `, price_data=${state.price_data}`) + (state.price_noise === 1 ? "" : `, price_noise=${state.price_noise}`);
  const noise = `, noise=${text(state.noise)}, nu=${state.nu}`;
  lines.push(`print(nw.error(model${noise}${at}${loss}${target}${seed}))`, `print(nw.design(model, nu=${state.nu}${at}${target}${prices}${seed}))`);
  if (state.data) lines.push(`print(nw.fit(model, ${text(state.data.name)}${noise}${loss}${seed}))`);
  return lines.join("\n");
}

/** Lets the browser save something. */
function save(root, name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: address, download: name });
  root.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** A chart by itself: with the page's colours written into it. */
function standalone(svg) {
  const copy = svg.cloneNode(true);
  copy.querySelectorAll(".handles, .reach").forEach(own => own.remove());
  const originals = svg.querySelectorAll("path, line, text, circle, rect"), copies = copy.querySelectorAll("path, line, text, circle, rect");
  const styles = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "font-size", "font-family", "font-weight"];
  const kept = [...originals].filter(own => !own.closest(".handles"));
  copies.forEach((own, i) => {
    const computed = getComputedStyle(kept[i]);
    own.setAttribute("style", styles.map(name => `${name}:${computed.getPropertyValue(name)}`).join(";"));
  });
  const view = svg.viewBox.baseVal;
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("width", view.width);
  copy.prepend(svgElement("rect", { width: view.width, height: view.height, style: `fill:${getComputedStyle(svg.closest(".nw-lab")).backgroundColor}` }));
  return new XMLSerializer().serializeToString(copy);
}

/** All numbers of the page. */
function numbers(app) {
  const { state, look, overview, fit } = app;
  return { state: { ...state, address: app.transport.address?.() }, error: look?.error, optimum: look?.optimum, best: overview, fit: fit?.fit };
}

/** The curves as columns. */
function columns(app) {
  const grid = app.model?.grid, error = app.look?.error?.grid, optimum = app.look?.optimum?.grid, limit = app.overview?.grid;
  if (!grid) return "";
  const plane = !!grid.y, count = grid.data.length;
  const names = app.model.variables.map(own => own.name);
  const head = [...names, "data", "noise", "optimum", "all_noise", "weight", "a"];
  const rows = Array.from({ length: count }, (_, i) => [
    ...(plane ? [grid.x[i % grid.x.length], grid.y[Math.floor(i / grid.x.length)]] : [grid.x[i]]),
    grid.data[i], error?.noise?.[i], optimum?.density?.[i], limit?.all_noise?.[i], error?.weight?.[i], optimum?.sensitivity?.[i]]);
  return [head, ...rows].map(row => row.map(value => value ?? "").join(",")).join("\n") + "\n";
}

function shareSection(app) {
  const command = h("pre", { "data-testid": "command", tabindex: 0 }), python = h("pre", { "data-testid": "python", tabindex: 0 });
  const said = h("span", { class: "muted", role: "status" });
  const copy = async (text, what) => {
    try { await navigator.clipboard.writeText(text); said.textContent = `${what} copied.`; } catch { said.textContent = `The browser did not let ${what.toLowerCase()} be copied: select it instead.`; }
  };
  const button = (name, words, act) => h("button", { type: "button", "data-testid": name, onclick: act }, words);
  const charts = () => [...app.root.querySelectorAll("svg.chart")].filter(svg => svg.childNodes.length && svg.getClientRects().length);
  const box = h("section", { class: "card", "aria-labelledby": app.id("nw-share-title") }, h("h2", { id: app.id("nw-share-title") }, "Take it along"),
    h("div", { class: "buttons" },
      app.transport.address ? button("copy-address", "Copy the address", () => copy(app.transport.address(), "Address")) : null,
      button("copy-command", "Copy the command", () => copy(command.textContent, "Command")), button("copy-python", "Copy the Python", () => copy(python.textContent, "Python")),
      button("save-model", "Model file", () => save(app.root, "model.toml", "text/plain", app.state.model)),
      button("save-svg", "Pictures (SVG)", () => charts().forEach(svg => save(app.root, `${svg.id.replace("nw-", "")}.svg`, "image/svg+xml", standalone(svg)))),
      button("save-json", "Numbers (JSON)", () => save(app.root, "lab.json", "application/json", JSON.stringify(numbers(app), null, 1))),
      button("save-csv", "Curves (CSV)", () => save(app.root, "lab.csv", "text/csv", columns(app))), said),
    h("h3", {}, "In a terminal"), command, h("h3", {}, "In Python"), python);
  return { box, show() { command.textContent = commandLines(app); python.textContent = pythonLines(app); } };
}
