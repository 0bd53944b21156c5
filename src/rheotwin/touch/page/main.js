// The page of a session: bodies and tools in three dimensions, a hand that drags them, plots and sliders.
// Live pictures come over a socket; a recorded session lies in the page itself and has a slider of time.
import { BufferAttribute, BufferGeometry, Color, DirectionalLight, DoubleSide, Group, HemisphereLight, Line, LineBasicMaterial,
  LineSegments, Matrix4, Mesh, MeshBasicMaterial, MeshLambertMaterial, OrthographicCamera, PerspectiveCamera, Raycaster, Scene,
  SphereGeometry, Vector2, Vector3, WebGLRenderer } from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { Plot } from "./plot.js";
import { play } from "./player.js";

const BODIES = [0xc98d4f, 0x4f8a8b, 0x8b6fb0, 0x6a994e], SECOND = 0x3f6fb5, TOOL = 0x8a929b, HAND = 0xe0661b;
const COLOURS = ["#e0661b", "#4a5460", "#6a994e", "#8b6fb0", "#3f6fb5", "#a33b5b"];
const $ = (id) => document.getElementById(id);
const canvas = $("view");
const renderer = new WebGLRenderer({ canvas, antialias: false, powerPreference: "low-power" });
const world = new Scene();
world.background = new Color(0xeef1f4);
world.add(new HemisphereLight(0xffffff, 0x9aa3ad, 2.2));
const raycaster = new Raycaster();
let scene, camera, controls, bodies = [], tools = [], spring, point, socket, socketOpen = false;
let drag = null, dirty = true, drawn = 0, pictures = 0, latest = null;
export const state = { pictures: 0, drawn: 0, numbers: {}, seen: [], ready: false }; // what tests look at
window.touch = state;

state.where = (...place) => { // where a place of the scene is on the screen
  const seen = new Vector3(...place).project(camera);
  return [(0.5 + 0.5 * seen.x) * innerWidth, (0.5 - 0.5 * seen.y) * innerHeight];
};

const sun = new DirectionalLight(0xffffff, 1.6);
world.add(sun);

function fit() {
  renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
  renderer.setSize(innerWidth, innerHeight, false);
  if (!camera) return;
  const wide = innerWidth / innerHeight;
  if (camera.isPerspectiveCamera) camera.aspect = wide;
  else {
    const half = 0.75 * scene.extent * Math.max(1, (scene.beside ? 1.6 : 1) / wide);
    Object.assign(camera, { left: -half * wide, right: half * wide, top: half, bottom: -half });
  }
  if (innerWidth < 600) camera.clearViewOffset();
  else camera.setViewOffset(innerWidth, innerHeight, 165, 0, innerWidth, innerHeight); // beside the panels
  camera.updateProjectionMatrix();
  dirty = true;
}

function look() { // where the whole scene is seen; panels beside it on a wide screen
  const size = scene.extent, centre = new Vector3(...scene.centre), flat = scene.dimension === 2;
  if (scene.beside) centre.x += 0.55 * size;
  camera = flat ? new OrthographicCamera() : new PerspectiveCamera(40, 1, size / 100, size * 50);
  camera.up.set(0, flat ? 1 : 0, flat ? 0 : 1);
  const away = ((scene.beside ? 1.9 : 1.3) / Math.min(1, innerWidth / innerHeight)) * 1.35;
  camera.position.copy(centre).add(flat ? new Vector3(0, 0, 5 * size) : new Vector3(0.7, -1.3, 0.75).setLength(away * size));
  camera.near = size / 100; camera.far = 50 * size;
  controls = new OrbitControls(camera, canvas);
  controls.target.copy(centre);
  controls.enableRotate = !flat;
  controls.addEventListener("change", () => { dirty = true; });
  controls.update();
  fit();
}

function body(colour, shift) { // one surface whose places and normals every picture brings anew
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(3 * scene.nodes), 3));
  geometry.setAttribute("normal", new BufferAttribute(new Int8Array(4 * scene.nodes), 4, true));
  const colours = new Float32Array(3 * scene.nodes);
  scene.owner.forEach((owner, k) => new Color(colour ?? BODIES[owner % BODIES.length]).toArray(colours, 3 * k));
  geometry.setAttribute("color", new BufferAttribute(colours, 3));
  geometry.setIndex(new BufferAttribute(new Uint32Array(scene.triangles), 1));
  const mesh = new Mesh(geometry, new MeshLambertMaterial({ vertexColors: true, side: DoubleSide, polygonOffset: true,
    polygonOffsetFactor: 1, polygonOffsetUnits: 1 }));
  mesh.frustumCulled = false;
  const group = new Group();
  group.add(mesh);
  if (scene.triangles.length < 60000) {
    const edges = [];
    for (let t = 0; t < scene.triangles.length; t += 3)
      for (const [a, b] of [[0, 1], [1, 2], [2, 0]]) {
        const i = scene.triangles[t + a], j = scene.triangles[t + b];
        if (i < j || scene.dimension === 2) edges.push(i, j);
      }
    const lines = new BufferGeometry();
    lines.setAttribute("position", geometry.attributes.position);
    lines.setIndex(edges);
    const net = new LineSegments(lines, new LineBasicMaterial({ color: 0x20262d, transparent: true, opacity: 0.35 }));
    net.frustumCulled = false;
    group.add(net);
  }
  group.position.copy(shift);
  world.add(group);
  return { mesh, geometry };
}

function toolMesh(tool) {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(tool.points), 3));
  geometry.setIndex(tool.triangles);
  const flat = geometry.toNonIndexed();
  flat.computeVertexNormals();
  const mesh = new Mesh(flat, new MeshLambertMaterial({ color: tool.movable ? 0xb9863b : TOOL, side: DoubleSide, transparent: tool.plane,
    opacity: tool.plane ? 0.45 : 1, depthWrite: !tool.plane }));
  mesh.matrixAutoUpdate = false;
  world.add(mesh);
  return mesh;
}

export function build(given) {
  scene = given;
  $("title").textContent = document.title = scene.title;
  $("about").textContent = `${scene.solver}${scene.kernel ? " (" + scene.kernel + ")" : ""}, ${scene.nodes} seen nodes` +
    (scene.beside ? `; beside it ${scene.beside}` : "");
  $("lines").replaceChildren(...scene.legend.map((line) => Object.assign(document.createElement("li"), { textContent: line })));
  const apart = new Vector3(1.1 * scene.extent, 0, 0);
  bodies = [body(null, new Vector3())];
  if (scene.beside) bodies.push(body(SECOND, apart));
  scene.tools.forEach((tool, row) => { tool.movable = scene.movable.includes(row); });
  tools = scene.tools.map(toolMesh);
  spring = new Line(new BufferGeometry().setFromPoints([new Vector3(), new Vector3()]), new LineBasicMaterial({ color: HAND, depthTest: false }));
  point = new Mesh(new SphereGeometry(scene.extent / 70, 12, 8), new MeshBasicMaterial({ color: HAND, depthTest: false }));
  spring.frustumCulled = false;
  spring.renderOrder = point.renderOrder = 1;
  world.add(spring, point);
  sun.position.set(-0.4, -0.8, 1.2).setLength(scene.extent * 5);

  look();
  sliders();
}

// ---- pictures -------------------------------------------------------------------------------------------------------

export function picture(buffer) {
  const [version, count, poses, sets] = new Float64Array(buffer, 0, 4);
  const numbers = new Float64Array(buffer, 32, count), placed = new Float64Array(buffer, 32 + 8 * count, 4 * poses);
  let at = 32 + 8 * (count + 4 * poses);
  for (let k = 0; k < Math.min(sets, bodies.length); k++) {
    const { position, normal } = bodies[k].geometry.attributes;
    position.array.set(new Float32Array(buffer, at, 3 * scene.nodes)); at += 12 * scene.nodes;
    normal.array.set(new Int8Array(buffer, at, 4 * scene.nodes)); at += 4 * scene.nodes;
    position.needsUpdate = normal.needsUpdate = true;
  }
  show(version, numbers, placed);
}

export function show(version, numbers, placed) {
  tools.forEach((mesh, row) => {
    const { centre, axis } = scene.tools[row], [x, y, z, angle] = placed.slice(4 * row, 4 * row + 4);
    mesh.matrix.makeRotationAxis(new Vector3(...axis), angle).setPosition(centre[0] + x, centre[1] + y, centre[2] + z);
    mesh.matrixWorldNeedsUpdate = true;
  });
  const told = Object.fromEntries(scene.numbers.map((name, k) => [name, numbers[k]]));
  const first = scene.numbers.length, n = scene.forces.length;
  told.forces = Array.from(numbers.subarray(first, first + n));
  told.others = Array.from(numbers.subarray(first + n, first + 2 * n));
  const held = told.held > 0;
  spring.visible = point.visible = held;
  if (held) {
    const ends = ["hand", "point"].map((of) => new Vector3(...["x", "y", "z"].map((axis) => told[`${of}.${axis}`])));
    spring.geometry.setFromPoints(ends);
    point.position.copy(ends[1]);
  }
  pictures++;
  Object.assign(state, { pictures, version, numbers: told, ready: true });
  state.seen.push([told.time, told.forces]);
  if (state.seen.length > 500) state.seen.shift();
  latest = told;
  dirty = true;
}

const sums = (forces) => { // names and sizes of the forces on hand and tools
  const found = new Map();
  scene.forces.forEach((name, k) => {
    const of = name.replace(/\.force_.$/, "").replace(/^(tool|grab)\./, "");
    found.set(of, Math.hypot(found.get(of) ?? 0, forces[k]));
  });
  return found;
};

const plots = { force: new Plot($("force"), "N", COLOURS), depth: new Plot($("depth"), "mm", [COLOURS[0], COLOURS[1]]) };
let lastKey = "";
const tidy = (value) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3));

function panel() {
  if (!latest || !$("numbers").open) return;
  const mine = sums(latest.forces), other = scene.beside ? sums(latest.others) : new Map();
  const names = [...mine.keys(), ...[...other.keys()].map((name) => `${name} (${scene.beside})`)];
  plots.force.add(latest.time, [...mine.values(), ...other.values()]);
  plots.depth.add(latest.time, [1e3 * latest.indentation, 1e3 * latest.remains]);
  const key = names.join();
  if (key !== lastKey) {
    lastKey = key;
    $("key").replaceChildren(...names.map((name, k) => {
      const span = document.createElement("span"), mark = document.createElement("i");
      mark.style.background = COLOURS[k % COLOURS.length];
      span.append(mark, name);
      return span;
    }));
  }
  const rows = [["time", `${latest.time.toFixed(2)} s`], ...[...mine].map(([name, size]) => [`force on ${name}`, `${tidy(size)} N`]),
    ["indentation", `${tidy(1e3 * latest.indentation)} mm`], ["remains", `${tidy(1e3 * latest.remains)} mm`]];
  if (socket) rows.push(["rate", `${(1 / scene.period).toFixed(0)} Hz, ${(100 * latest.met).toFixed(1)} % met`],
    ["work of a period", `${tidy(1e3 * latest.work)} ms of ${tidy(1e3 * scene.period)}`], ["pictures", `${drawn} a second`]);
  if (latest.clamped) rows.push(["hand held back", `${latest.clamped} times`]);
  if (scene.beside) rows.push([`${scene.beside} is at`, `${latest.beside.toFixed(2)} s`]);
  $("values").replaceChildren(...rows.map((row) => {
    const line = document.createElement("tr");
    line.append(...row.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
    return line;
  }));
}

let frames = 0, second = performance.now();
function frame(now) {
  requestAnimationFrame(frame);
  if (!dirty || !camera) return;
  dirty = false;
  if (drag?.ray) { send(drag.ray); drag.ray = null; }
  renderer.render(world, camera);
  if (socket && state.version) send(JSON.stringify({ seen: state.version }));
  frames++;
  state.drawn++;
  if (now - second > 1000) { drawn = Math.round((1000 * frames) / (now - second)); state.rate = drawn; frames = 0; second = now; }
  if (!socket || state.drawn % 4 === 0) panel();
}
requestAnimationFrame(frame);

// ---- the hand -------------------------------------------------------------------------------------------------------

const send = (data) => { if (socketOpen) socket.send(data); };

function aim(event) {
  const { left, top, width, height } = canvas.getBoundingClientRect();
  raycaster.setFromCamera(new Vector2((2 * (event.clientX - left)) / width - 1, 1 - (2 * (event.clientY - top)) / height), camera);
  return raycaster.ray;
}

canvas.addEventListener("pointerdown", (event) => {
  if (!socket || !latest || event.button !== 0 || drag) return;
  aim(event);
  bodies[0].geometry.boundingSphere = null;
  const movable = tools.filter((_, row) => scene.tools[row].movable);
  const [hit] = raycaster.intersectObjects([bodies[0].mesh, ...movable], false);
  if (!hit) return;
  const view = camera.getWorldDirection(new Vector3()).toArray(), row = tools.indexOf(hit.object);
  send(JSON.stringify({ press: { ...(row < 0 ? { face: hit.faceIndex } : { tool: row }), hit: hit.point.toArray(), view } }));
  drag = { id: event.pointerId };
  controls.enabled = false;
  canvas.setPointerCapture(event.pointerId);
  canvas.style.cursor = "grabbing";
  event.stopImmediatePropagation();
}, { capture: true });

canvas.addEventListener("pointermove", (event) => {
  if (!drag || event.pointerId !== drag.id) return;
  const { origin, direction } = aim(event);
  drag.ray = new Float64Array([...origin, ...direction]).buffer;
  dirty = true;
});

for (const name of ["pointerup", "pointercancel"])
  canvas.addEventListener(name, (event) => {
    if (!drag || event.pointerId !== drag.id) return;
    if (drag.ray) send(drag.ray);
    drag = null;
    controls.enabled = true;
    canvas.style.cursor = "";
    send(JSON.stringify({ release: true }));
  });

// ---- buttons and sliders --------------------------------------------------------------------------------------------

function button(text, act, pressed) {
  const made = document.createElement("button");
  made.textContent = text;
  if (pressed !== undefined) made.setAttribute("aria-pressed", pressed);
  made.onclick = () => act(made);
  $("buttons").append(made);
  return made;
}

const order = (name, value) => send(JSON.stringify({ do: name, value }));
const toggle = (made) => { const on = made.getAttribute("aria-pressed") !== "true"; made.setAttribute("aria-pressed", on); return on; };

function orders() {
  button("Begin again", () => { order("reset"); plots.force.clear(); plots.depth.clear(); });
  button("Pause", (made) => order(toggle(made) ? "pause" : "go"), false);
  button("Slow", (made) => order("pace", toggle(made) ? 0.1 : 1), false);
  button("Keep", () => order("save"));
}

function sliders() { // from a tenth to ten times of what the scene says, on a logarithmic scale
  for (const [law, keys] of Object.entries(scene.laws))
    for (const [key, value] of Object.entries(keys)) {
      const label = document.createElement("label"), output = document.createElement("output"), input = document.createElement("input");
      Object.assign(input, { type: "range", min: -1, max: 1, step: 0.02, value: 0, disabled: !socket });
      const now = () => value * 10 ** input.value;
      const tell = () => { output.textContent = `${now().toPrecision(3)} ${key === "young" ? "Pa" : "Pa s"}`; };
      input.oninput = tell;
      input.onchange = () => order("law", [law, key, now()]);
      label.append(`${law}: ${key.replace("_", " ")}`, output);
      tell();
      $("sliders").append(label, input);
    }
}

if (innerWidth < 600) for (const panel of document.querySelectorAll("aside > details")) panel.open = false;
addEventListener("resize", fit);
fit();

if (window.SESSION) play(window.SESSION, { build, show, bodies: () => bodies, button, toggle });
else {
  socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/socket`);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => { socketOpen = true; orders(); };
  socket.onmessage = ({ data }) => {
    if (data instanceof ArrayBuffer) return picture(data);
    const told = JSON.parse(data);
    if (told.scene) build(told.scene);
    if ("message" in told) $("message").textContent = told.message || (told.saved ? `kept in ${told.saved}` : "");
  };
  socket.onclose = () => { socketOpen = false; $("message").textContent = "the session has ended"; };
}
