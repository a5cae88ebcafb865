// In a notebook: questions go to Python by messages.

function render({ model, el }) {
  const waiting = new Map();
  let count = 0;
  const send = (kind, question, buffers) => new Promise((resolve, reject) => {
    const id = ++count;
    waiting.set(id, { resolve, reject });
    model.send({ id, kind, question: JSON.stringify(question) }, undefined, buffers);
  });
  const heard = message => {
    const own = waiting.get(message.id);
    if (!own) return;
    waiting.delete(message.id);
    if (message.answer !== undefined) own.resolve(JSON.parse(message.answer)); else own.reject(JSON.parse(message.mistake));
  };
  model.on("msg:custom", heard);
  const root = document.createElement("div");
  el.append(root);
  mount(root, {
    ask: (kind, question) => send(kind, question),
    addData: (name, bytes) => send("data", { name }, [bytes]).then(answer => answer.number),
  }).catch(mistake => { root.textContent = mistake.message || String(mistake); });
  return () => model.off("msg:custom", heard);
}
export default { render };
