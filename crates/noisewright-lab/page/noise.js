// Noises that have handles: from words to parts that can be moved, and back.

/** Numbers in words: as many digits as a hand can set. */
const short = (x, digits = 6) => String(Number(Number(x).toPrecision(digits)));

/** Splits at a separator that stands outside of all brackets. */
function splitOutside(text, separator) {
  const parts = [];
  let depth = 0, start = 0;
  for (let i = 0; i < text.length; i++) {
    if ("([".includes(text[i])) depth++;
    if (")]".includes(text[i])) depth--;
    if (text[i] === separator && depth === 0 && !/[eE]$/.test(text.slice(start, i))) {
      parts.push(text.slice(start, i));
      start = i + 1;
    }
  }
  return [...parts, text.slice(start)].map(part => part.trim());
}

const isNumber = x => typeof x === "number" && Number.isFinite(x);
const isPair = x => Array.isArray(x) && x.length === 2 && x.every(isNumber);

/** Mean, width and correlation of a normal or Student in two variables. */
function plane(mean, matrix) {
  if (!isPair(mean) || !Array.isArray(matrix) || matrix.length !== 2 || !matrix.every(isPair)) return null;
  const sd = [Math.sqrt(matrix[0][0]), Math.sqrt(matrix[1][1])];
  return sd.every(s => s > 0) ? { mean, sd, rho: matrix[0][1] / (sd[0] * sd[1]) } : null;
}

/** How each family is read from its arguments and written; `mean` and `sd` are where its handles are. */
const FAMILIES = {
  normal: {
    read: ([m, v]) => isNumber(m) && v > 0 ? { mean: m, sd: Math.sqrt(v) } : plane(m, v),
    write: p => p.rho === undefined ? [short(p.mean), short(p.sd * p.sd, 12)] : [list(p.mean), matrix(p)],
  },
  student: {
    read: ([dof, m, s]) => !(dof > 0) ? null : isNumber(m) && s > 0 ? { dof, mean: m, sd: s } : withDof(dof, plane(m, s)),
    write: p => p.rho === undefined ? [short(p.dof), short(p.mean), short(p.sd)] : [short(p.dof), list(p.mean), matrix(p)],
  },
  laplace: { read: ([m, s]) => isNumber(m) && s > 0 ? { mean: m, sd: s } : null, write: p => [short(p.mean), short(p.sd)] },
  logistic: { read: ([m, s]) => isNumber(m) && s > 0 ? { mean: m, sd: s } : null, write: p => [short(p.mean), short(p.sd)] },
  uniform: {
    read: ([lo, hi]) => hi > lo ? { mean: (lo + hi) / 2, sd: (hi - lo) / 2 } : null,
    write: p => [short(p.mean - p.sd), short(p.mean + p.sd)],
  },
  gamma: {
    read: ([shape, rate]) => shape > 0 && rate > 0 ? { mean: shape / rate, sd: Math.sqrt(shape) / rate } : null,
    write: p => [short((p.mean / p.sd) ** 2), short(p.mean / p.sd ** 2)],
  },
  "von-mises": {
    read: ([m, k]) => isNumber(m) && k > 0 ? { mean: m, sd: 1 / Math.sqrt(k) } : null,
    write: p => [short(p.mean), short(1 / p.sd ** 2)],
  },
};
const withDof = (dof, part) => part && { dof, ...part };
const list = pair => `[${pair.map(x => short(x)).join(", ")}]`;
function matrix({ sd, rho }) {
  const off = short(rho * sd[0] * sd[1], 8);
  return `[[${short(sd[0] ** 2, 8)}, ${off}], [${off}, ${short(sd[1] ** 2, 8)}]]`;
}

/** The families that a domain may have. */
const FAMILIES_OF = {
  real: ["normal", "student", "laplace", "logistic", "uniform"],
  positive: ["gamma"],
  interval: ["uniform", "normal"],
  circle: ["von-mises"],
};

/** The parts of a noise in words, or nothing where it has no handles. */
function readNoise(words) {
  const parts = [];
  const terms = splitOutside(words, "+");
  for (const term of terms) {
    const match = /^(?:([\d.eE+-]+)\s*\*\s*)?([a-z-]+)\s*\((.*)\)$/s.exec(term);
    if (!match || !FAMILIES[match[2]]) return null;
    let values;
    try { values = JSON.parse(`[${match[3].replace(/(^|[^\d.])\.(\d)/g, "$10.$2")}]`); } catch { return null; }
    const place = FAMILIES[match[2]].read(values);
    const weight = match[1] === undefined ? 1 : Number(match[1]);
    if (!place || !(weight > 0) || (terms.length > 1) !== (match[1] !== undefined)) return null;
    parts.push({ family: match[2], weight, ...place });
  }
  return parts;
}

/** The words of parts. */
function writeNoise(parts) {
  const call = part => `${part.family}(${FAMILIES[part.family].write(part).join(", ")})`;
  if (parts.length === 1) return call(parts[0]);
  // The last weight is what the others leave: rounded weights would not sum to one.
  let left = 1;
  return parts.map((part, i) => {
    const weight = i === parts.length - 1 ? Number(left.toPrecision(12)) : Number(part.weight.toPrecision(4));
    left -= weight;
    return `${weight}*${call(part)}`;
  }).join(" + ");
}

/** Tails from 0 (normal) to 1 (Cauchy): one over the degrees of freedom. */
const tailsOf = part => part.family === "student" ? 1 / part.dof : 0;
function setTails(part, tails) {
  const heavy = tails >= 0.005;
  part.family = heavy ? "student" : "normal";
  if (heavy) part.dof = Number((1 / Math.min(1, tails)).toPrecision(3)); else delete part.dof;
}
const hasTails = part => part.family === "normal" || part.family === "student";

/** Moves weight to one part, the others keep their proportions. */
function setWeight(parts, index, weight) {
  const w = Math.min(0.99, Math.max(0.01, weight));
  const rest = parts.reduce((sum, part, i) => i === index ? sum : sum + part.weight, 0);
  parts.forEach((part, i) => { part.weight = i === index ? w : part.weight / rest * (1 - w); });
}

/** A noise to begin with: a little wider than the data. */
function firstNoise(variables) {
  const wider = 1.25, [first, second] = variables;
  const domain = first.domain;
  const sd = x => Number((wider * x.sd).toPrecision(3));
  const mean = x => Number(x.mean.toFixed(Math.max(0, 2 - Math.floor(Math.log10(x.sd || 1)))));
  if (variables.length === 1 && FAMILIES_OF[domain] && domain !== "interval") {
    return writeNoise([{ family: FAMILIES_OF[domain][0], weight: 1, mean: mean(first), sd: sd(first) }]);
  }
  if (variables.length === 2 && variables.every(v => v.domain === "real")) {
    return writeNoise([{ family: "normal", weight: 1, mean: [mean(first), mean(second)], sd: [sd(first), sd(second)], rho: 0 }]);
  }
  return "auto";
}
