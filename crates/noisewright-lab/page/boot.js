// On a page of its own: questions go to where the page came from.

const here = new URL(".", location.href);
const pageName = Array.from(crypto.getRandomValues(new Uint32Array(2)), n => n.toString(36)).join("");

async function post(path, body) {
  let response;
  try {
    response = await fetch(new URL(path, here), { method: "POST", body });
  } catch {
    throw { message: "The lab no longer answers: start it again with `noisewright lab`." };
  }
  const text = await response.text();
  let answer;
  try { answer = JSON.parse(text); } catch { answer = { message: text || `The lab answered ${response.status}.` }; }
  if (!response.ok) throw answer;
  return answer;
}

const transport = {
  ask: (kind, question) => post(`ask/${kind}?page=${pageName}`, JSON.stringify(question)),
  addData: async (name, bytes) => (await post(`data?name=${encodeURIComponent(name)}`, bytes)).number,
  address: () => location.href,
  hash: () => location.hash.slice(1),
  setHash: text => { history.replaceState(null, "", `#${text}`); },
  onHash: act => addEventListener("hashchange", act),
};
mount(document.getElementById("lab"), transport).then(
  app => { window.noisewrightLab = app; },
  mistake => { document.getElementById("lab").textContent = mistake.message || String(mistake); },
);
