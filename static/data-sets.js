// The drop zones of a data set: each sends an archive, a file, or several files packed into one; tus-js-client resumes them.
"use strict";

const SEGMENT = 8 * 1024 * 1024; // bytes of a request, which the server stores as one piece
const DELAYS = [0, 1000, 2000, 4000, 8000, 16000, 20000, 20000]; // milliseconds
const HIDDEN = /(^|\/)(\.[^/]*|__MACOSX|Thumbs\.db|desktop\.ini)(\/|$)/; // files of operating systems
const zones = document.getElementById("data-set");
const largest = Number(zones.dataset.most);
const unsent = new Set(); // zones whose choice has not arrived as a whole; loading the page again would lose it

function size(bytes) {
  return bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

function problemOf(error) {
  try {
    const { title, detail } = JSON.parse(error.originalResponse.getBody());
    return detail ?? title;
  } catch {
    return error.originalResponse ? `The server answered ${error.originalResponse.getStatus()}.` : "The connection is lost. What has arrived is stored; send the same file again to go on.";
  }
}

function packed(files, role) {
  const some = files.map((file) => ({ path: file.webkitRelativePath || file.name, file })).filter(({ path }) => !HIDDEN.test(path));
  if (some.length < 2) return some.length ? some[0].file : null;
  return packTar(some, `${role}.tar`);
}

function prepare(zone) {
  const { role } = zone.dataset;
  const [bar, state, button] = ["progress", "[role=status]", "button"].map((which) => zone.querySelector(which));
  let content = null;

  const say = (message) => { state.textContent = message; };
  const choose = (files) => {
    content = null;
    try {
      content = packed([...files], role);
    } catch (error) {
      if (!(error instanceof TarError)) throw error;
      say(error.message);
    }
    if (content && content.size > largest) {
      say(`${content.name} has ${size(content.size)}; at most ${size(largest)} are accepted.`);
      content = null;
    } else if (content) say(`${content.name}, ${size(content.size)}`);
    button.disabled = !content;
    unsent[content ? "add" : "delete"](zone);
  };

  zone.querySelectorAll("input").forEach((input) => input.addEventListener("change", () => choose(input.files)));
  zone.addEventListener("dragover", (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    choose(event.dataTransfer.files);
  });
  button.addEventListener("click", async () => {
    button.disabled = true;
    bar.hidden = false;
    const upload = new tus.Upload(content, {
      endpoint: zones.dataset.files,
      chunkSize: SEGMENT,
      retryDelays: DELAYS,
      metadata: { filename: content.name, role },
      fingerprint: async (file) => ["data-set", zones.dataset.files, role, file.name, file.size, file.lastModified].join("-"),
      removeFingerprintOnSuccess: true,
      onProgress: (sent, all) => {
        bar.max = all;
        bar.value = sent;
        say(`${size(sent)} of ${size(all)}`);
      },
      onError: (error) => {
        say(problemOf(error));
        button.disabled = false;
      },
      onSuccess: () => {
        unsent.delete(zone);
        bar.hidden = true;
        say(`${content.name} has arrived.`);
        if (!unsent.size) location.reload();
      },
    });
    const [previous] = await upload.findPreviousUploads();
    if (previous) upload.resumeFromPreviousUpload(previous);
    upload.start();
  });
}

zones.querySelectorAll(".send").forEach(prepare);
