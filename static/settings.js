// Mail settings: a switch of a group ticks what is usual in it, or nothing; what is ticked turns the switch and is counted.
"use strict";

for (const group of document.querySelectorAll(".switches fieldset")) {
  const all = group.querySelector(".switch");
  const kinds = [...group.querySelectorAll("details input")];
  const count = () => {
    const ticked = kinds.filter((kind) => kind.checked).length;
    group.querySelector("[data-count]").textContent = ticked;
    return ticked;
  };
  all.addEventListener("change", () => {
    for (const kind of kinds) kind.checked = all.checked && "usual" in kind.dataset;
    count();
  });
  for (const kind of kinds) kind.addEventListener("change", () => { all.checked = count() > 0; });
}

// The settings of the server: shows those whose name, value or meaning has all the words.
const field = document.querySelector("[data-filters]");
field?.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const group of document.querySelectorAll(".filtered")) {
    group.open = words.length > 0;
    let found = 0;
    for (const row of group.querySelectorAll("tbody tr")) {
      row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
      if (!row.hidden) found += 1;
    }
    group.hidden = !found;
  }
  document.getElementById("found-none").hidden = [...document.querySelectorAll(".filtered")].some((group) => !group.hidden);
});
