// What every page gains from a script: the viewer's own time, copying, and a voice for what changes by itself.
"use strict";

function tellLocalTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    time.title = new Date(time.dateTime).toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" });
  }
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

// The fragment is replaced every second; a screen reader hears of it only when its words change.
function announce() {
  const voice = document.getElementById("announcement");
  if (!voice) return;
  const words = [...document.querySelectorAll("[data-announce]")].map((each) => each.dataset.announce).join(". ");
  if (voice.textContent !== words) voice.textContent = words;
}

document.documentElement.classList.add("scripted");
tellLocalTimes(document);
announce();
if (navigator.clipboard) document.querySelectorAll("pre[data-copy]").forEach(offerCopying);
document.querySelector(".problems")?.focus();
document.addEventListener("htmx:afterSettle", () => {
  tellLocalTimes(document);
  announce();
});
