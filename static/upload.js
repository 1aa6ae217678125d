// The drop zone of the page to submit on; tus-js-client sends what was chosen, and resumes it. The page shows the next step
// in place, and its address becomes the upload's.
"use strict";

const ARCHIVE = /\.(zip|tar|t?gz|t?xz|t?bz2|7z|rar|t?zst)$/i;
const LEFT_OUT = /(^|\/)(\.[^/]*|__MACOSX|Thumbs\.db|desktop\.ini)(\/|$)/; // files of operating systems

let form; // the drop zone on the page, and its parts
let field;
let folder;
let sender;

let archive = null; // the File to send
let shown = location.pathname;

function go(address) {
  shown = address;
  if (location.pathname !== address) history.pushState(null, "", address);
}

function addressOf(url) {
  return `/uploads/${url.split("/").pop()}`;
}

// Shows the page of an upload in place of this one. What was typed about the method stays.
async function showNext(address) {
  const before = document.getElementById("submitting");
  const typed = [...document.querySelectorAll("#confirmation [name]:not([type=hidden], [name=competition])")];
  await htmx.ajax("GET", address, { target: "#submitting", select: "#submitting", swap: "outerHTML" });
  const after = document.getElementById("submitting");
  if (!after || after === before) return location.assign(address); // such as after a logout in another tab
  for (const old of typed) {
    const now = [...document.querySelectorAll("#confirmation [name]")].find((each) => each.name === old.name && (each.type !== "radio" || each.value === old.value));
    if (!now) continue;
    now.value = old.value;
    now.checked = old.checked;
  }
  if (typed.length) document.getElementById("confirmation")?.dispatchEvent(new Event("change")); // what follows depends on it
  return document.getElementById("report").focus();
}

function start() {
  const done = async (url) => {
    sender.say("The archive has arrived. Loading its report …");
    await showNext(addressOf(url)).catch(() => sender.say("The archive has arrived. The connection is lost: reload the page to see its report."));
  };
  sender.start(archive, form.dataset.uploads, done, (url) => go(addressOf(url)));
}

function refuse(message) {
  archive = null;
  field.setCustomValidity(message);
  sender.say(message);
}

function isTooLarge(file) {
  const most = Number(form.dataset.most);
  const mostOfFile = Number(form.dataset.mostFile);
  if (file.size > most) return `${file.name} has ${human(file.size)}, and an archive may have at most ${human(most)} here. Nothing was sent.`;
  if (!ARCHIVE.test(file.name) && file.size > mostOfFile) return `${file.name} has ${human(file.size)}, and a file may have at most ${human(mostOfFile)} here. Nothing was sent.`;
  return null;
}

// `files` are pairs of path and File. Returns whether they can be sent.
function choose(files) {
  sender.reset();
  archive = null;
  field.setCustomValidity("");
  field.required = !files.length; // what was dropped, or a folder, is not in the field itself
  const results = files.filter(({ path }) => !LEFT_OUT.test(path));
  if (!results.length) return files.length ? refuse("There is no prediction file in what you chose.") : undefined;
  if (results.length > 1 && results.some(({ path }) => ARCHIVE.test(path)))
    return refuse("Choose one archive, or prediction files that are not packed; not both, and not two archives.");
  const large = results.map(({ file }) => isTooLarge(file)).find(Boolean);
  if (large) return refuse(large);
  try {
    archive = results.length > 1 ? packTar(results, "results.tar") : results[0].file;
  } catch (error) {
    if (error instanceof TarError) return refuse(error.message);
    throw error;
  }
  const tooLarge = isTooLarge(archive);
  if (tooLarge) return refuse(tooLarge);
  if (!archive.size) return refuse(`${archive.name} is empty.`);
  return sender.say(results.length > 1 ? `${results.length} files, ${human(archive.size)} in one archive` : `${archive.name}, ${human(archive.size)}`);
}

function chosen(input) {
  return [...input.files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

function entriesOf(directory) {
  const reader = directory.createReader();
  const all = [];
  return new Promise((resolve, reject) => {
    const next = () => reader.readEntries((some) => { // a hundred at a time
      if (!some.length) return resolve(all);
      all.push(...some);
      return next();
    }, reject);
    next();
  });
}

async function filesBelow(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => { entry.file(resolve, reject); });
    return [{ path: entry.fullPath.replace(/^\//, ""), file }];
  }
  const below = await Promise.all((await entriesOf(entry)).map(filesBelow));
  return below.flat();
}

function bind() {
  if (!document.getElementById("upload") || document.getElementById("upload") === form) return;
  form = document.getElementById("upload");
  [field, folder] = ["field-archive", "field-folder"].map((id) => document.getElementById(id));
  sender = new Sender(form, "The server checks the archive …");
  archive = null;
  field.multiple = true;
  field.addEventListener("change", () => choose(chosen(field)));
  folder.addEventListener("change", () => choose(chosen(folder)));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (archive && !sender.button.disabled) start();
  });
  form.addEventListener("dragover", (event) => {
    event.preventDefault();
    form.classList.add("over");
  });
  form.addEventListener("dragleave", () => form.classList.remove("over"));
  form.addEventListener("drop", async (event) => {
    event.preventDefault();
    form.classList.remove("over");
    if (sender.button.disabled) return;
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
    choose((await Promise.all(entries.map(filesBelow))).flat());
    if (archive) start();
  });
  if (field.files.length) choose(chosen(field)); // after going back
}

bind();
document.addEventListener("htmx:afterSettle", bind);
addEventListener("popstate", () => {
  if (location.pathname !== shown) location.reload();
});
