// Links into what is closed or was moved: opens the call or the table that an address names, and follows the anchor of a section to its new page.
"use strict";

function follow() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.matches("[data-moved] > li")) location.replace(target.querySelector("a").href);
  const call = target.closest("details");
  if (call) {
    call.open = true;
    target.scrollIntoView();
  }
}

follow();
window.addEventListener("hashchange", follow);
