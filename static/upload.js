// The drop zone of the submit page; tus-js-client sends what was chosen, and resumes it.
"use strict";

const ARCHIVE = /\.(zip|tar|tgz|tar\.gz|gz|xz)$/i;
const LEFT_OUT = /(^|\/)(\.[^/]*|__MACOSX|Thumbs\.db|desktop\.ini)(\/|$)/; // files of operating systems
const RETRY_DELAYS = [0, 1000, 2000, 4000, 8000, 16000, 20000, 20000]; // milliseconds

const form = document.getElementById("upload");
const field = document.getElementById("field-archive");
const folder = document.getElementById("field-folder");
const bar = document.getElementById("upload-progress");
const state = document.getElementById("upload-state");
const pause = document.getElementById("upload-pause");
const send = form.querySelector("[type=submit]");
const most = Number(form.dataset.most);

let archive = null; // the File to send
let upload = null; // what sends it

function human(bytes) {
  return bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

function say(message) {
  if (state.textContent !== message) state.textContent = message;
}

function show(sent, size) {
  bar.max = size;
  bar.value = sent;
  bar.textContent = `${Math.floor((100 * sent) / size)} %`;
  say(sent < size ? `Sending ${human(size)} …` : "The server checks the archive …");
}

function stop(message, label) {
  say(message);
  send.disabled = false;
  send.textContent = label;
  pause.hidden = true;
}

// What the server says of a refusal, or that the connection is lost.
function reasonOf(error) {
  try {
    const { title, detail, problems = [] } = JSON.parse(error.originalResponse.getBody());
    return [detail ?? title, ...problems.map((problem) => problem.message)].join("; ");
  } catch {
    return error.originalResponse ? `The server answered ${error.originalResponse.getStatus()}.` : "The connection is lost. What has arrived is stored.";
  }
}

function uploadOf(file) {
  return new tus.Upload(file, {
    endpoint: form.dataset.uploads,
    retryDelays: RETRY_DELAYS,
    metadata: { filename: file.name },
    removeFingerprintOnSuccess: true,
    onProgress: show,
    onError: (error) => {
      upload = null;
      stop(reasonOf(error), "Try again");
    },
    onSuccess: () => {
      say("The archive has arrived. Opening its page …");
      location.assign(`/uploads/${upload.url.split("/").pop()}`);
    },
  });
}

async function start() {
  send.disabled = true;
  pause.hidden = false;
  bar.hidden = false;
  if (!upload) {
    upload = uploadOf(archive);
    const [previous] = await upload.findPreviousUploads();
    if (previous) upload.resumeFromPreviousUpload(previous);
  }
  upload.start();
}

function refuse(message) {
  archive = null;
  field.setCustomValidity(message);
  say(message);
}

// `files` are pairs of path and File.
function choose(files) {
  upload = null;
  archive = null;
  bar.hidden = true;
  field.setCustomValidity("");
  field.required = !files.length; // what was dropped, or a folder, is not in the field itself
  send.textContent = "Upload and check";
  const results = files.filter(({ path }) => !LEFT_OUT.test(path));
  if (!results.length) return files.length ? refuse("There is no prediction file in what you chose.") : say("");
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
  return say(results.length > 1 ? `${results.length} files, ${human(archive.size)} in one archive` : `${archive.name}, ${human(archive.size)}`);
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
  if (archive) start();
});
pause.addEventListener("click", async () => {
  await upload.abort();
  stop("Paused. What has arrived is stored.", "Continue");
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
