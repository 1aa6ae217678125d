// Drawings as PNG: three times their size, on white, drawn by this browser from the SVG.
"use strict";

const TIMES = 3;

async function imageOf(address) {
  const text = (await (await fetch(address)).text()).replace("prefers-color-scheme: dark", "not all");
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  return image;
}

async function download(link) {
  const image = await imageOf(link.href);
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: TIMES * image.width, height: TIMES * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((resolve) => { canvas.toBlob(resolve); });
  const address = URL.createObjectURL(blob);
  Object.assign(document.createElement("a"), { href: address, download: link.dataset.png }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-png]");
  if (!link || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  download(link);
});
