// One picture: the keys for the pictures beside it, and the slider that hides what is less confident.
"use strict";

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, select, textarea")) return;
  const relation = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
  const link = relation && document.querySelector(`link[rel="${relation}"]`);
  if (link) location.assign(link.href);
});

const slider = document.querySelector("[data-threshold]");
slider?.addEventListener("input", () => {
  const threshold = Number(slider.value);
  document.getElementById("field-threshold").value = threshold.toPrecision(3);
  for (const each of document.querySelectorAll("[data-score]")) {
    each.classList.toggle("below", Number(each.dataset.score) < threshold);
  }
});
