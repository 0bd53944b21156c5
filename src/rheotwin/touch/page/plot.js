// Curves over the last seconds, on a canvas: as much as two panels need.
const SECONDS = 6;

export class Plot {
  constructor(canvas, unit, colours) {
    Object.assign(this, { canvas, unit, colours, rows: [] });
  }

  clear() {
    this.rows = [];
  }

  add(time, values) {
    if (this.rows.length && time < this.rows[this.rows.length - 1][0]) this.clear();
    this.rows.push([time, ...values]);
    while (this.rows[0][0] < time - SECONDS) this.rows.shift();
    this.draw();
  }

  draw() {
    const { canvas, rows, unit } = this, dense = Math.min(devicePixelRatio, 2);
    const width = canvas.clientWidth, height = canvas.clientHeight, pen = canvas.getContext("2d");
    if (canvas.width !== width * dense || canvas.height !== height * dense) Object.assign(canvas, { width: width * dense, height: height * dense });
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.clearRect(0, 0, width, height);
    const most = Math.max(1e-9, ...rows.map((row) => Math.max(...row.slice(1)))), end = rows[rows.length - 1][0];
    const step = 10 ** Math.floor(Math.log10(most)), top = step * Math.ceil((1.05 * most) / step), left = 44, low = height - 16;
    const x = (time) => left + ((width - left - 4) * (time - end + SECONDS)) / SECONDS, y = (value) => low - ((low - 8) * value) / top;
    pen.font = "11px system-ui";
    pen.fillStyle = "#5b6774";
    pen.strokeStyle = "#d5dbe1";
    pen.lineWidth = 1;
    for (const share of [0, 0.5, 1]) {
      const at = y(share * top);
      pen.beginPath(); pen.moveTo(left, at); pen.lineTo(width - 4, at); pen.stroke();
      pen.fillText(`${+(share * top).toPrecision(2)} ${share === 1 ? unit : ""}`, 2, at + 4);
    }
    pen.fillText(`${Math.max(0, end - SECONDS).toFixed(1)} s`, left, height - 3);
    pen.fillText(`${end.toFixed(1)} s`, width - 34, height - 3);
    pen.lineWidth = 1.6;
    for (let k = 1; k < (rows[0]?.length ?? 0); k++) {
      pen.strokeStyle = this.colours[(k - 1) % this.colours.length];
      pen.beginPath();
      for (const row of rows) pen.lineTo(x(row[0]), y(row[k]));
      pen.stroke();
    }
  }
}
