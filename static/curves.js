// Values under the pointer, or at a slider, in figures whose axes are known: data-plot="left top width height" of the view box.
"use strict";

// The heights of a polyline at a place across; of a step the highest.
function heightAt(points, x) {
  let found = null;
  for (let i = 1; i < points.length; i += 1) {
    const [one, other] = [points[i - 1], points[i]];
    if (x < Math.min(one.x, other.x) || x > Math.max(one.x, other.x)) continue;
    const y = one.x === other.x ? Math.min(one.y, other.y) : one.y + ((other.y - one.y) * (x - one.x)) / (other.x - one.x);
    if (found === null || y < found) found = y;
  }
  return found;
}

function readable(figure) {
  const svg = figure.querySelector("svg");
  const [left, top, width, height] = figure.dataset.plot.split(" ").map(Number);
  const across = figure.dataset.across;
  const lines = [...svg.querySelectorAll("polyline.curve:not(.faint)")].map((line) => ({
    look: line.getAttribute("class"),
    name: line.querySelector("title").textContent.replace(/ [\d.]+$/, ""),
    points: line.getAttribute("points").split(" ").filter(Boolean).map((pair) => {
      const [x, y] = pair.split(",").map(Number);
      return { x, y };
    }),
  }));
  const cursor = svg.querySelector("line").cloneNode(false);
  cursor.setAttribute("class", "lead");
  svg.append(cursor);
  const readout = document.createElement("p");
  readout.className = "readout";
  const slider = document.createElement("input");
  Object.assign(slider, { type: "range", min: 0, max: 100, step: 1, value: 50 });
  // as long as the plot, and its thumb above the line
  const { x, width: whole } = svg.viewBox.baseVal;
  slider.style.marginLeft = `calc(${(100 * (left - x)) / whole}% - 0.55rem)`;
  slider.style.width = `calc(${(100 * width) / whole}% + 1.1rem)`;
  slider.setAttribute("aria-label", `${across}, in percent`);
  const control = document.createElement("label");
  const place = document.createElement("span");
  control.append(place, slider);
  const output = document.createElement("output");
  readout.append(control, output);
  // like the legend: a row for each line, in its order
  for (const line of lines) {
    const row = document.createElement("span");
    const key = svg.cloneNode(false);
    for (const [name, value] of Object.entries({ viewBox: "0 0 26 8", width: 26, height: 8, "aria-hidden": true })) key.setAttribute(name, value);
    const stroke = cursor.cloneNode(false);
    for (const [name, value] of Object.entries({ class: line.look, x1: 0, x2: 26, y1: 4, y2: 4 })) stroke.setAttribute(name, value);
    key.append(stroke);
    line.value = document.createElement("b");
    row.append(key, `${line.name} `, line.value);
    output.append(row);
  }
  svg.parentElement.after(readout);

  function show(share) {
    const x = left + width * share;
    for (const [name, value] of Object.entries({ x1: x, x2: x, y1: top, y2: top + height })) cursor.setAttribute(name, value);
    for (const line of lines) {
      const y = heightAt(line.points, x);
      line.value.textContent = y === null ? "–" : ((100 * (top + height - y)) / height).toFixed(1);
    }
    place.textContent = `${figure.dataset.up || "Values"} at ${across} ${Math.round(100 * share * Number(figure.dataset.right))}%`;
  }

  slider.addEventListener("input", () => show(slider.value / 100));
  svg.addEventListener("pointermove", (event) => {
    const pointer = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const share = Math.min(Math.max((pointer.x - left) / width, 0), 1);
    slider.value = Math.round(100 * share);
    show(share);
  });
  show(0.5);
}

function readFigures() {
  for (const figure of document.querySelectorAll("figure[data-plot]:not([data-readable])")) {
    figure.dataset.readable = "";
    readable(figure);
  }
}

readFigures();
document.addEventListener("change", (event) => event.target.closest("form.chooser")?.requestSubmit());
document.addEventListener("htmx:afterSettle", readFigures);
