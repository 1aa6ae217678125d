// The boxes of an image, drawn over its picture: the table below holds them, and the picture changes the table.
"use strict";

const form = document.querySelector("[data-labels]");
const svg = form?.querySelector(".scene svg");

if (svg) {
  const first = Number(form.dataset.first);
  const hasMasks = "masks" in form.dataset;
  const width = Number(svg.dataset.width);
  const height = Number(svg.dataset.height);
  const rows = form.querySelector("[data-rows]");
  const layer = svg.querySelector("[data-boxes]");
  const told = form.querySelector("[data-told]");
  const HANDLES = ["top left", "top", "top right", "right", "bottom right", "bottom", "bottom left", "left"];
  const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  let zoom = 1;
  let chosen = null; // a row
  let isChanged = false;
  let lastClass = "";

  const field = (row, side) => row.querySelector(`[data-side="${side}"]`);
  const classOf = (row) => row.querySelector("[name$='-class']");
  const isRemoved = (row) => row.querySelector("[data-removed]").checked;
  const tidy = (value) => Math.round(value * 1000) / 1000;
  const limited = (value, least, most) => Math.min(Math.max(value, least), most);

  // The box of a row, by its edges: an image begins at 0. Null if it has none.
  function boxOf(row) {
    const [left, top, right, bottom] = ["left", "top", "right", "bottom"].map((side) => field(row, side).value);
    if ([left, top, right, bottom].some((text) => text === "" || !Number.isFinite(Number(text))) || isRemoved(row)) return null;
    return { left: left - first, top: top - first, right: Number(right), bottom: Number(bottom) };
  }

  function setBox(row, box) {
    field(row, "left").value = tidy(box.left + first);
    field(row, "top").value = tidy(box.top + first);
    field(row, "right").value = tidy(box.right);
    field(row, "bottom").value = tidy(box.bottom);
    isChanged = true;
  }

  function isEmpty(row) {
    return !classOf(row).value && !boxOf(row) && !row.querySelector("[name$='-number']").value;
  }

  function nameOf(row) {
    return `Box ${row.dataset.box}, ${classOf(row).value || "no class"}`;
  }

  function words(row) {
    const numbers = ["left", "top", "right", "bottom"].map((side) => `${side} ${field(row, side).value}`);
    return `${nameOf(row)}: ${numbers.join(", ")}`;
  }

  function made(name, attributes, parent) {
    const element = document.createElementNS(svg.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    parent.append(element);
    return element;
  }

  const pixel = () => 1 / (svg.getScreenCTM()?.a || 1); // of the screen, in pixels of the image

  function drawOne(row) {
    const box = boxOf(row);
    let mark = layer.querySelector(`[data-row="${row.dataset.box}"]`);
    row.classList.toggle("chosen", row === chosen);
    row.classList.toggle("gone", isRemoved(row));
    if (!box) {
      mark?.remove();
      return;
    }
    if (!mark) {
      mark = made("g", { "data-row": row.dataset.box, tabindex: "0", role: "button" }, layer);
    }
    const isHard = row.querySelector("[name$='-difficult']")?.checked;
    mark.setAttribute("class", `mark truth${isHard ? " hard" : ""}${row === chosen ? " chosen" : ""}`);
    mark.setAttribute("aria-label", words(row));
    mark.replaceChildren();
    const area = { x: box.left, y: box.top, width: Math.max(box.right - box.left, 0), height: Math.max(box.bottom - box.top, 0) };
    made("rect", { ...area, class: "halo" }, mark);
    made("rect", area, mark);
    const size = 13 * pixel();
    const label = made("text", { x: box.left + size / 4, y: box.top + size, "font-size": size }, mark);
    label.textContent = `${row.dataset.box} ${classOf(row).value}`;
    if (row === chosen && !hasMasks) drawHandles(mark, box);
  }

  function drawHandles(mark, box) {
    const size = 10 * pixel();
    const room = Math.min(box.right - box.left, box.bottom - box.top) / size;
    for (const handle of HANDLES) {
      // those of a box that is small on the screen would hide it
      if (room < 4 && !handle.includes(" ")) continue;
      if (room < 2 && handle !== "bottom right") continue;
      const x = handle.includes("left") ? box.left : handle.includes("right") ? box.right : (box.left + box.right) / 2;
      const y = handle.includes("top") ? box.top : handle.includes("bottom") ? box.bottom : (box.top + box.bottom) / 2;
      made("rect", { class: "handle", "data-handle": handle, x: x - size / 2, y: y - size / 2, width: size, height: size }, mark);
    }
  }

  function draw() {
    for (const row of rows.children) {
      row.hidden = isEmpty(row) && row !== chosen;
      drawOne(row);
    }
  }

  function choose(row) {
    if (row === chosen) return;
    chosen = row;
    draw();
    const mark = row && layer.querySelector(`[data-row="${row.dataset.box}"]`);
    if (mark) told.textContent = words(row);
  }

  const rowOf = (mark) => rows.querySelector(`[data-box="${mark.dataset.row}"]`);

  function newRow() {
    const free = [...rows.children].find((row) => isEmpty(row));
    if (free) return free;
    const template = form.querySelector("[data-row]:is(template)");
    const number = rows.children.length + 1;
    const holder = document.createElement("tbody");
    holder.innerHTML = template.innerHTML.replaceAll("NUMBER", number);
    rows.append(...holder.children);
    return rows.lastElementChild;
  }

  function add(box) {
    const row = newRow();
    classOf(row).value = lastClass || classOf(row).querySelector("option:nth-of-type(2)")?.value || "";
    setBox(row, box);
    choose(row);
    draw();
    return row;
  }

  function addInTheMiddle() {
    const [x, y] = [Math.floor(width * 3 / 8), Math.floor(height * 3 / 8)];
    const row = add({ left: x, top: y, right: x + Math.max(1, Math.floor(width / 4)), bottom: y + Math.max(1, Math.floor(height / 4)) });
    focusOn(row);
    told.textContent = `New ${words(row)}`;
  }

  function focusOn(row) {
    layer.querySelector(`[data-row="${row?.dataset.box}"]`)?.focus();
  }

  function moved(box, x, y) {
    const [dx, dy] = [limited(x, -box.left, width - box.right), limited(y, -box.top, height - box.bottom)];
    return { left: box.left + dx, top: box.top + dy, right: box.right + dx, bottom: box.bottom + dy };
  }

  // The box with some of its sides moved; no side passes the one opposite.
  function resized(box, sides, x, y) {
    const found = { ...box };
    if (sides.includes("left")) found.left = limited(box.left + x, 0, box.right - 1);
    if (sides.includes("right")) found.right = limited(box.right + x, box.left + 1, width);
    if (sides.includes("top")) found.top = limited(box.top + y, 0, box.bottom - 1);
    if (sides.includes("bottom")) found.bottom = limited(box.bottom + y, box.top + 1, height);
    return found;
  }

  function remove(row) {
    const marks = [...layer.querySelectorAll("[data-row]")];
    const place = marks.findIndex((mark) => rowOf(mark) === row);
    const after = marks[place + 1] ?? marks[place - 1];
    const name = nameOf(row);
    const isKnown = row.querySelector("[name$='-number']").value !== "";
    if (isKnown) {
      row.querySelector("[data-removed]").checked = true;
    } else {
      for (const input of row.querySelectorAll("[data-side], select, [list]")) input.value = "";
    }
    isChanged = true;
    choose(after ? rowOf(after) : null);
    draw();
    if (after) after.focus();
    else svg.closest(".scene").focus();
    told.textContent = `${name}: removed.${isKnown ? " Untick Remove in its row to keep it." : ""}`;
  }

  // not on the drawing itself, which would become a stop of the Tab key
  svg.closest(".scene").addEventListener("focusin", (event) => {
    const mark = event.target.closest("[data-row]");
    if (mark) choose(rowOf(mark));
  });

  svg.addEventListener("keydown", (event) => {
    const mark = event.target.closest("[data-row]");
    if (!mark || event.altKey || event.metaKey) return;
    const row = rowOf(mark);
    if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      remove(row);
      return;
    }
    const direction = KEYS[event.key];
    if (!direction || hasMasks) return;
    event.preventDefault();
    const [x, y] = direction.map((each) => each * (event.ctrlKey ? 10 : 1));
    const box = boxOf(row);
    setBox(row, event.shiftKey ? resized(box, "right bottom", x, y) : moved(box, x, y));
    drawOne(row);
    told.textContent = words(row);
  });

  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "n" || event.altKey || event.ctrlKey || event.metaKey || hasMasks) return;
    if (event.target.closest("input, select, textarea")) return;
    event.preventDefault();
    addInTheMiddle();
  });

  // Where a pointer is in the image; whole pixels, or parts of them where one is larger on the screen.
  function at(event) {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const x = limited(point.x, 0, width);
    const y = limited(point.y, 0, height);
    return { x: Math.round(x), y: Math.round(y) };
  }

  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const mark = event.target.closest("[data-row]");
    const start = at(event);
    let row = mark && rowOf(mark);
    let before = row && boxOf(row);
    const sides = event.target.dataset?.handle;
    if (row) {
      choose(row);
      focusOn(row);
    }
    event.preventDefault();
    if (hasMasks) return;
    const drag = (moving) => {
      const now = at(moving);
      const [x, y] = [now.x - start.x, now.y - start.y];
      if (!row) {
        if (Math.abs(x) < 2 || Math.abs(y) < 2) return;
        row = add({ left: start.x, top: start.y, right: start.x + 1, bottom: start.y + 1 });
        before = null;
      }
      if (!before) {
        setBox(row, {
          left: Math.min(start.x, now.x), top: Math.min(start.y, now.y),
          right: Math.max(start.x, now.x), bottom: Math.max(start.y, now.y),
        });
      } else if (x || y) {
        setBox(row, sides ? resized(before, sides, x, y) : moved(before, x, y));
      }
      drawOne(row);
    };
    const end = () => {
      document.removeEventListener("pointermove", drag);
      document.removeEventListener("pointerup", end);
      document.removeEventListener("pointercancel", end);
      if (row) {
        focusOn(row);
        told.textContent = words(row);
      }
    };
    document.addEventListener("pointermove", drag);
    document.addEventListener("pointerup", end);
    document.addEventListener("pointercancel", end);
  });

  rows.addEventListener("focusin", (event) => choose(event.target.closest("tr")));
  rows.addEventListener("input", (event) => {
    const row = event.target.closest("tr");
    if (event.target === classOf(row)) lastClass = event.target.value;
    isChanged = true;
    drawOne(row);
  });
  form.querySelector("[data-new]")?.addEventListener("click", addInTheMiddle);
  for (const button of form.querySelectorAll("[data-by]")) {
    button.addEventListener("click", () => {
      const region = svg.closest(".scene");
      const [x, y] = [region.scrollLeft + region.clientWidth / 2, region.scrollTop + region.clientHeight / 2];
      const before = svg.getBoundingClientRect();
      zoom = limited(zoom * Number(button.dataset.by), 1, 16);
      svg.classList.toggle("zoomed", zoom > 1);
      svg.style.width = `${100 * zoom}%`;
      const after = svg.getBoundingClientRect();
      region.scrollLeft = (x / before.width) * after.width - region.clientWidth / 2;
      region.scrollTop = (y / before.height) * after.height - region.clientHeight / 2;
      draw();
      layer.querySelector(".chosen")?.scrollIntoView({ block: "nearest", inline: "nearest" });
    });
  }
  form.addEventListener("submit", () => {
    isChanged = false;
  });
  addEventListener("beforeunload", (event) => {
    if (isChanged) event.preventDefault();
  });
  addEventListener("resize", draw);

  svg.closest(".scene").classList.add("live");
  for (const each of form.querySelectorAll("[data-zoom], [data-help]")) each.hidden = false;
  layer.replaceChildren();
  draw();
}
