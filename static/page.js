// What every page gains from a script: the viewer's own time, copying, and announcements of what changes by itself.
"use strict";

function addLocalTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    time.title = new Date(time.dateTime).toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" });
  }
}

// Beside a time in UTC the viewer's own: "Tue 24 Nov 2026 14:00 UTC / 16:00 your time", with the day where it is another.
function addOwnTimes(root) {
  if (new Date().getTimezoneOffset() === 0) return;
  for (const time of root.querySelectorAll("time[data-local]:not([data-shown])")) {
    const moment = new Date(time.dateTime);
    const sameDay = moment.getDate() === moment.getUTCDate();
    const form = { hour: "2-digit", minute: "2-digit", hour12: false, ...(sameDay ? {} : { weekday: "short", day: "numeric", month: "short" }) };
    time.dataset.shown = "";
    time.append(` / ${moment.toLocaleString("en-GB", form)} your time`);
  }
}

// Counts down to a deadline: to the second within the last hour, else to the minute.
function countDown() {
  for (const each of document.querySelectorAll("[data-countdown]")) {
    const seconds = Math.round((new Date(each.dataset.countdown) - Date.now()) / 1000);
    if (seconds < 0) continue;
    const parts = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
    let rest = seconds;
    const words = [];
    for (const [length, unit] of parts) {
      const amount = Math.floor(rest / length);
      rest -= amount * length;
      if (words.length && seconds > 172800) break; // days are enough until the last two
      if (amount && (unit !== "second" || seconds < 3600)) words.push(`${amount} ${unit}${amount === 1 ? "" : "s"}`);
    }
    const text = `in ${words.slice(0, 2).join(" ") || "less than a second"}`;
    if (each.textContent !== text) each.textContent = text;
  }
}

// Beside UTC and AoE the zone of this browser; the server knows zones by the same names.
function offerOwnZone(select) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const known = [...select.options].find((option) => option.value === zone);
  if (known) known.textContent = `${zone} (yours)`;
  else if (zone) select.add(new Option(`${zone} (yours)`, zone));
}

function offerCopying(block) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("code").textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  block.append(button);
}

function offerToCopy() {
  if (navigator.clipboard) document.querySelectorAll("pre[data-copy]:not(:has(.copy))").forEach(offerCopying);
}

// A box above the boxes of a table that ticks all of them.
function offerSelectingAll(table) {
  const boxes = table.querySelectorAll("tbody input[type=checkbox]");
  const all = document.createElement("input");
  all.type = "checkbox";
  all.ariaLabel = "Select all on this page";
  all.addEventListener("change", () => { for (const box of boxes) box.checked = all.checked; });
  table.querySelector("thead th").append(all);
}

// The fragment is replaced whenever something has changed; a screen reader announces it only when its words change.
function announce() {
  const region = document.getElementById("announcement");
  if (!region) return;
  const words = [...document.querySelectorAll("[data-announce]")].map((each) => each.dataset.announce).join(". ");
  if (region.textContent !== words) region.textContent = words;
}

// Closes the menus of the header, except one in which somebody has clicked.
function closeMenus(inside) {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (inside && menu.contains(inside)) continue;
    const hadFocus = menu.contains(document.activeElement);
    menu.open = false;
    if (hadFocus && !inside) menu.querySelector("summary").focus();
  }
}

// A row of tabs that is wider than the screen begins at the current one.
function showCurrentTab(tab) {
  const list = tab.closest(".tabs, .pages");
  const start = tab.getBoundingClientRect().left - list.getBoundingClientRect().left;
  list.scrollLeft += start - (list.clientWidth - tab.offsetWidth) / 2;
}

addLocalTimes(document);
addOwnTimes(document);
announce();
offerToCopy();
document.querySelectorAll(":is(.tabs, .pages) [aria-current]").forEach(showCurrentTab);
document.querySelectorAll("table.selectable").forEach(offerSelectingAll);
document.querySelectorAll("select[data-zones]").forEach(offerOwnZone);
if (document.querySelector("[data-countdown]")) {
  countDown();
  setInterval(countDown, 1000);
}
document.querySelector(".problems:not(.sample *)")?.focus();
for (const button of document.querySelectorAll(".theme button")) {
  button.ariaPressed = String(button.value === (document.documentElement.dataset.theme ?? "system"));
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeMenus();
  if (event.key === "Escape") document.querySelector(".burger").open = false;
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const field = document.getElementById("search");
  if (!field) return;
  event.preventDefault();
  field.focus();
});
document.addEventListener("click", (event) => {
  closeMenus(event.target);
  const told = event.target.closest("a[data-read]"); // opening its page reads a notification
  if (told) fetch(told.dataset.read, { method: "POST", keepalive: true, redirect: "manual" });
});
document.addEventListener("htmx:afterSettle", () => {
  offerToCopy();
  addLocalTimes(document);
  addOwnTimes(document);
  announce();
});
