// The drop zones of a data set: each sends archives one after another, a file, or several files packed into one; tus-js-client
// resumes them.
"use strict";

const SEGMENT = 8 * 1024 * 1024; // bytes of a request, which the server stores as one piece
const DELAYS = [0, 1000, 2000, 4000, 8000, 16000, 20000, 20000]; // milliseconds
const ARCHIVE = /\.(zip|tar|t?gz|t?xz|t?bz2|7z|rar|t?zst)$/i;
const HIDDEN = /(^|\/)(\.[^/]*|__MACOSX|Thumbs\.db|desktop\.ini)(\/|$)/; // files of operating systems
const zones = document.getElementById("data-set");
const largest = Number(zones.dataset.most);
const arrived = new Set([...document.querySelectorAll("#sent-files [data-complete]")].map((row) => row.dataset.file)); // "role/name"
const unsent = new Set(); // zones whose choice has not arrived as a whole; loading the page again would lose it

function size(bytes) {
  if (bytes < 1024) return `${bytes} byte${bytes === 1 ? "" : "s"}`;
  return bytes < 1024 * 1024 ? `${Number((bytes / 1024).toFixed(1))} KiB` : `${Number((bytes / 1024 / 1024).toFixed(1))} MiB`;
}

function problemOf(error) {
  try {
    const { title, detail } = JSON.parse(error.originalResponse.getBody());
    return detail ?? title;
  } catch {
    return error.originalResponse ? `The server answered ${error.originalResponse.getStatus()}.` : "The connection is lost. What has arrived is stored; send the same file again to go on.";
  }
}

// The name of a pack of single files, which replaces no other pack: images.tar, images-2.tar and so on.
function nameOfPack(role) {
  let name = `${role}.tar`;
  for (let number = 2; arrived.has(`${role}/${name}`); number += 1) name = `${role}-${number}.tar`;
  return name;
}

// What is sent of a choice: each archive alone, and what is not packed as it is, or packed into one.
function contentsOf(files, role) {
  const some = files.map((file) => ({ path: file.webkitRelativePath || file.name, file })).filter(({ path }) => !HIDDEN.test(path));
  const archives = some.filter(({ path }) => ARCHIVE.test(path)).map(({ file }) => file);
  const loose = some.filter(({ path }) => !ARCHIVE.test(path));
  const rest = loose.length > 1 ? [packTar(loose, nameOfPack(role))] : loose.map(({ file }) => file);
  const all = [...archives, ...rest];
  const twice = all.find(({ name }, place) => all.findIndex((each) => each.name === name) < place);
  if (twice) throw new TarError(`Two archives are called ${twice.name}. Give one another name, because files of a data set are told apart by theirs.`);
  const large = all.find((each) => each.size > largest);
  if (large) throw new TarError(`${large.name} has ${size(large.size)}; at most ${size(largest)} are accepted.`);
  return all;
}

// Shows what has arrived without losing what was chosen in other zones.
async function renew() {
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  for (const id of ["sent-files", "reading"]) document.getElementById(id)?.replaceWith(page.getElementById(id) ?? "");
}

function prepare(zone) {
  const { role } = zone.dataset;
  const [bar, state, button, drop] = ["progress", "[role=status]", "button", ".drop"].map((which) => zone.querySelector(which));
  const inputs = [...zone.querySelectorAll("input")];
  let contents = []; // what has not arrived yet

  const say = (message) => { state.textContent = message; };
  const words = (file) => `${file.name}, ${size(file.size)}${arrived.has(`${role}/${file.name}`) ? ", in place of the one that was sent" : ""}`;
  const choose = (files) => {
    contents = [];
    try {
      contents = contentsOf([...files], role);
      say(contents.map(words).join("; "));
    } catch (error) {
      if (!(error instanceof TarError)) throw error;
      say(error.message);
    }
    button.disabled = !contents.length;
    unsent[contents.length ? "add" : "delete"](zone);
  };
  const send = (file) => new Promise((resolve, reject) => {
    const upload = new tus.Upload(file, {
      endpoint: zones.dataset.files,
      chunkSize: SEGMENT,
      retryDelays: DELAYS,
      metadata: { filename: file.name, role },
      fingerprint: async () => ["data-set", zones.dataset.files, role, file.name, file.size, file.lastModified].join("-"),
      removeFingerprintOnSuccess: true,
      onProgress: (sent, all) => {
        bar.max = all;
        bar.value = sent;
        say(`${file.name}: ${size(sent)} of ${size(all)}`);
      },
      onError: reject,
      onSuccess: resolve,
    });
    upload.findPreviousUploads().then(([previous]) => {
      if (previous) upload.resumeFromPreviousUpload(previous);
      upload.start();
    }, reject);
  });

  inputs.forEach((input) => input.addEventListener("change", () => choose(input.files)));
  zone.addEventListener("dragover", (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    if (!drop.inert) choose(event.dataTransfer.files);
  });
  button.addEventListener("click", async () => {
    const names = [];
    button.disabled = true;
    bar.hidden = false;
    drop.inert = true; // another choice would be forgotten
    while (contents.length) {
      try {
        await send(contents[0]); // one after another
      } catch (error) {
        drop.inert = false;
        button.disabled = false;
        return say(`${contents[0].name}: ${problemOf(error)}`);
      }
      const { name } = contents.shift();
      names.push(name);
      arrived.add(`${role}/${name}`);
    }
    unsent.delete(zone);
    inputs.forEach((input) => { input.value = ""; });
    drop.inert = false;
    bar.hidden = true;
    say(`${names.join(", ")} ${names.length > 1 ? "have" : "has"} arrived.`);
    if (unsent.size) return renew().catch(() => {}); // the list is renewed with the next file
    zones.inert = true; // what is chosen while the page is loaded again would be forgotten
    return location.reload();
  });
  const restored = inputs.find((input) => input.files.length); // chosen before this script ran, or kept by the browser
  if (restored) choose(restored.files);
}

zones.querySelectorAll(".send").forEach(prepare);
document.addEventListener("submit", (event) => {
  if (event.target.id !== "reading" || !unsent.size || event.target.dataset.warned) return;
  event.preventDefault();
  event.target.dataset.warned = "yes";
  const [zone] = unsent;
  const state = zone.querySelector("[role=status]");
  state.textContent += ". It has not been sent. Send it first, or read the others without it by the same button.";
  zone.querySelector("button").focus();
});
