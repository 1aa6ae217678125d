// The drop zone of the submit page; tus-js-client sends what was chosen, and resumes it.
"use strict";

const ARCHIVE = /\.(zip|tar|tgz|tar\.gz|gz|xz)$/i;
const LEFT_OUT = /(^|\/)(\.[^/]*|__MACOSX|Thumbs\.db|desktop\.ini)(\/|$)/; // files of operating systems

const form = document.getElementById("upload");
const field = document.getElementById("field-archive");
const folder = document.getElementById("field-folder");
const sender = new Sender(form, "The server checks the archive …");
const most = Number(form.dataset.most);

let archive = null; // the File to send

function opened(url) {
  sender.say("The archive has arrived. Opening its page …");
  location.assign(`/uploads/${url.split("/").pop()}`);
}

function refuse(message) {
  archive = null;
  field.setCustomValidity(message);
  sender.say(message);
}

// `files` are pairs of path and File.
function choose(files) {
  sender.reset();
  archive = null;
  field.setCustomValidity("");
  field.required = !files.length; // what was dropped, or a folder, is not in the field itself
  const results = files.filter(({ path }) => !LEFT_OUT.test(path));
  if (!results.length) return files.length ? refuse("There is no prediction file in what you chose.") : undefined;
  if (results.length > 1 && results.some(({ path }) => ARCHIVE.test(path)))
    return refuse("Choose one archive, or prediction files that are not packed; not both, and not two archives.");
  try {
    archive = results.length > 1 ? packTar(results, "results.tar") : results[0].file;
  } catch (error) {
    if (error instanceof TarError) return refuse(error.message);
    throw error;
  }
  if (archive.size > most) return refuse(`The archive has ${human(archive.size)}; at most ${human(most)} are accepted.`);
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

field.multiple = true;
field.addEventListener("change", () => choose(chosen(field)));
folder.addEventListener("change", () => choose(chosen(folder)));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (archive) sender.start(archive, form.dataset.uploads, opened);
});
form.addEventListener("dragover", (event) => {
  event.preventDefault();
  form.classList.add("over");
});
form.addEventListener("dragleave", () => form.classList.remove("over"));
form.addEventListener("drop", async (event) => {
  event.preventDefault();
  form.classList.remove("over");
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
  const files = (await Promise.all(entries.map(filesBelow))).flat();
  choose(files);
});
if (field.files.length) choose(chosen(field)); // after going back
