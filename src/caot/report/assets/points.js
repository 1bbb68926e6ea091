// Draws many points: by WebGL where there is any, else on a plain canvas.

const NEUTRAL = ["#8a9299", "#7d868d"];

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function pointColours() {
  const theme = isDark() ? 1 : 0;
  const colours = DATA.clusters.map((cluster) => cluster.colours[theme]);
  return DATA.cluster.map((k) => (k === NO_CLUSTER ? NEUTRAL[theme] : colours[k]));
}

const VERTEX = `
attribute vec2 place; attribute vec3 colour; attribute float match;
uniform vec2 centre, scale; uniform mediump float size; uniform float pass;
varying vec3 tint;
void main() {
  tint = colour;
  gl_Position = match == pass ? vec4((place - centre) * scale, 0.0, 1.0) : vec4(2.0, 2.0, 0.0, 1.0);
  gl_PointSize = size + 1.0;
}`;

const FRAGMENT = `
precision mediump float;
varying vec3 tint; uniform mediump float size; uniform float alpha;
void main() {
  float away = length(gl_PointCoord - 0.5) * (size + 1.0);
  float cover = clamp(size * 0.5 - away + 0.35, 0.0, 1.0) * alpha;
  gl_FragColor = vec4(tint * cover, cover);
}`;

function program(gl) {
  const made = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  return gl.getProgramParameter(made, gl.LINK_STATUS) ? made : null;
}

// places: Float32Array of x, y. Returns {kind, recolour, rematch, draw} or null.
function webglPoints(canvas, places) {
  // The drawn picture is kept, so that it can be printed.
  const gl = canvas.getContext("webgl", { preserveDrawingBuffer: true, antialias: false });
  if (!gl) return null;
  let uniform = {};
  let buffers = {};

  function start() {
    const made = program(gl);
    if (!made) return false;
    gl.useProgram(made);
    for (const name of ["centre", "scale", "size", "pass", "alpha"])
      uniform[name] = gl.getUniformLocation(made, name);
    for (const [name, width, type] of [["place", 2, gl.FLOAT], ["colour", 3, gl.UNSIGNED_BYTE], ["match", 1, gl.UNSIGNED_BYTE]]) {
      const at = gl.getAttribLocation(made, name);
      buffers[name] = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffers[name]);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, width, type, name === "colour", 0, 0);
    }
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    fill("place", places);
    return true;
  }

  function fill(name, values) {
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
  }

  function draw(view) {
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(uniform.centre, view.x, view.y);
    gl.uniform2f(uniform.scale, (2 * view.scale) / view.width, (2 * view.scale) / view.height);
    for (const layer of view.layers) {
      gl.uniform1f(uniform.size, layer.size * view.ratio);
      gl.uniform1f(uniform.alpha, layer.alpha);
      gl.uniform1f(uniform.pass, layer.match);
      gl.drawArrays(gl.POINTS, 0, N);
    }
  }

  if (!start()) return null;
  return {
    kind: "webgl",
    restart: start,
    recolour: () => fill("colour", new Uint8Array(pointColours().flatMap(channels))),
    rematch: () => fill("match", state.match),
    draw,
  };
}

function canvasPoints(canvas, places) {
  const context = canvas.getContext("2d");
  let colours = pointColours();
  return {
    kind: "canvas",
    restart: () => true,
    recolour: () => { colours = pointColours(); },
    rematch: () => {},
    draw(view) {
      context.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
      context.clearRect(0, 0, view.width, view.height);
      for (const layer of view.layers) {
        context.globalAlpha = layer.alpha;
        for (let i = 0; i < N; i++) {
          if (state.match[i] !== layer.match) continue;
          const x = view.width / 2 + (places[2 * i] - view.x) * view.scale;
          const y = view.height / 2 - (places[2 * i + 1] - view.y) * view.scale;
          if (x < -9 || y < -9 || x > view.width + 9 || y > view.height + 9) continue;
          context.fillStyle = colours[i];
          context.beginPath();
          context.arc(x, y, layer.size / 2, 0, 2 * Math.PI);
          context.fill();
        }
      }
    },
  };
}

// Finds the nearest point that is shown, by a grid over the map from -1 to 1.
function gridIndex(places) {
  const cells = 96;
  const cellOf = (value) => Math.min(cells - 1, Math.max(0, Math.floor(((value + 1) / 2) * cells)));
  const starts = new Uint32Array(cells * cells + 1);
  const keys = new Uint32Array(N);
  for (let i = 0; i < N; i++) {
    keys[i] = cellOf(places[2 * i]) * cells + cellOf(places[2 * i + 1]);
    starts[keys[i] + 1]++;
  }
  for (let c = 0; c < cells * cells; c++) starts[c + 1] += starts[c];
  const next = starts.slice();
  const members = new Uint32Array(N);
  for (let i = 0; i < N; i++) members[next[keys[i]]++] = i;

  return function nearest(x, y, reach) {
    let best = -1;
    let least = reach * reach;
    for (let cx = cellOf(x - reach); cx <= cellOf(x + reach); cx++) {
      for (let cy = cellOf(y - reach); cy <= cellOf(y + reach); cy++) {
        for (let at = starts[cx * cells + cy]; at < starts[cx * cells + cy + 1]; at++) {
          const i = members[at];
          const away = (places[2 * i] - x) ** 2 + (places[2 * i + 1] - y) ** 2;
          if (state.match[i] && away <= least) [best, least] = [i, away];
        }
      }
    }
    return best;
  };
}
