// A recorded session that lies in the page: 16-bit differences from frame to frame, deflated, and a slider of time.
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

export async function play(session, { build, show, bodies, button, toggle }) {
  build(session.scene);
  const steps = new Int16Array(await unpacked(session.places)), numbers = new Float64Array(await unpacked(session.numbers));
  const poses = new Float64Array(await unpacked(session.poses)), frames = session.times.length;
  const size = 3 * session.scene.nodes, places = new Int16Array(steps.length);
  for (let k = 0; k < steps.length; k++) places[k] = k < size ? steps[k] : places[k - size] + steps[k];
  const { geometry } = bodies()[0], wide = numbers.length / frames, turns = poses.length / frames;
  geometry.deleteAttribute("normal");
  const slider = document.createElement("input");
  Object.assign(slider, { type: "range", id: "slider", min: 0, max: frames - 1, step: 1, value: 0, ariaLabel: "time" });
  const at = (k) => {
    const { position } = geometry.attributes;
    for (let q = 0; q < size; q++) position.array[q] = session.low[q % 3] + session.unit * (places[k * size + q] + 32767);
    position.needsUpdate = true;
    geometry.computeVertexNormals();
    show(k + 1, numbers.subarray(k * wide, (k + 1) * wide), poses.slice(k * turns, (k + 1) * turns));
  };
  let playing = true, begin = performance.now();
  const run = button("Play", (made) => { playing = toggle(made); begin = performance.now() - 1e3 * session.times[slider.value]; }, true);
  document.getElementById("buttons").append(slider);
  slider.oninput = () => { playing = false; run.setAttribute("aria-pressed", false); at(+slider.value); };
  const turn = () => {
    requestAnimationFrame(turn);
    if (!playing) return;
    const now = ((performance.now() - begin) / 1e3) % (session.times[frames - 1] + 0.5);
    let k = session.times.findIndex((time) => time > now);
    k = k < 0 ? frames - 1 : Math.max(0, k - 1);
    if (+slider.value !== k || now < 0.05) { slider.value = k; at(k); }
  };
  at(0);
  turn();
}
