// An archive goes up in slices and goes on where it stopped: after a lost connection, and after a reload with the same file.
"use strict";

const SLICE = 8 * 1024 * 1024;
const HASHED = 256 * 1024 * 1024; // larger files are hashed by the server alone
const TRIES = 8;

const form = document.getElementById("upload");
const field = document.getElementById("field-archive");
const bar = document.getElementById("upload-progress");
const state = document.getElementById("upload-state");
const pause = document.getElementById("upload-pause");
const send = form.querySelector("[type=submit]");
const most = Number(form.dataset.most);

let paused = false;
let moving = null; // the request that carries a slice now

class Refused extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.isLost = [404, 410, 422].includes(status); // going on with the same upload would end the same way
  }
}

function human(bytes) {
  return bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

function say(sentence) {
  if (state.textContent !== sentence) state.textContent = sentence;
}

function request(method, address, headers, body, progress) {
  return new Promise((resolve, reject) => {
    const call = new XMLHttpRequest();
    moving = call;
    call.open(method, address);
    for (const [name, value] of Object.entries(headers)) call.setRequestHeader(name, value);
    if (progress) call.upload.addEventListener("progress", (event) => progress(event.loaded));
    call.addEventListener("load", () => resolve(call));
    for (const end of ["error", "abort", "timeout"]) call.addEventListener(end, () => reject(new Error("The connection is lost")));
    call.send(body ?? null);
  });
}

function answer(call) {
  try {
    return JSON.parse(call.responseText);
  } catch {
    return {};
  }
}

function sentenceOf(call) {
  const told = answer(call);
  const reasons = (told.problems ?? []).map((problem) => problem.message);
  return [told.title ?? `The server answered ${call.status}`, ...reasons].join("; ");
}

// Refusals are final; what the server or the way to it may get over is tried again.
function expect(call, ...statuses) {
  if (statuses.includes(call.status)) return call;
  if (call.status >= 500 || call.status === 429) throw new Error(sentenceOf(call));
  throw new Refused(sentenceOf(call), call.status);
}

function memory(file) {
  return ["upload", form.dataset.uploads, file.name, file.size, file.lastModified].join(":");
}

async function digest(file) {
  if (!window.crypto?.subtle || file.size >= HASHED) return null;
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
  return [...bytes].map((each) => each.toString(16).padStart(2, "0")).join("");
}

async function offsetOf(id) {
  const call = await request("HEAD", `/api/uploads/${id}`, {});
  if (call.status >= 400 && call.status < 500) return null;
  return Number(expect(call, 200, 204).getResponseHeader("Upload-Offset"));
}

async function begin(file) {
  const known = localStorage.getItem(memory(file));
  const offset = known ? await offsetOf(known) : null;
  if (offset !== null) return { id: known, offset };
  say("Reading the file …");
  const sha256 = await digest(file);
  const wanted = { filename: file.name, size: file.size, ...(sha256 ? { sha256 } : {}) };
  const call = await request("POST", form.dataset.uploads, { "Content-Type": "application/json" }, JSON.stringify(wanted));
  const { id, received } = answer(expect(call, 200, 201));
  localStorage.setItem(memory(file), id);
  return { id, offset: received };
}

function show(file, sent) {
  bar.max = file.size;
  bar.value = sent;
  bar.textContent = `${Math.floor((100 * sent) / file.size)} %`;
}

async function sendSlice(file, id, offset) {
  const slice = file.slice(offset, offset + SLICE);
  const last = offset + slice.size === file.size;
  say(last ? "Sending the rest; then the server checks the archive …" : `Sending ${human(file.size)} …`);
  const headers = { "Upload-Offset": String(offset), "Content-Type": "application/offset+octet-stream" };
  const call = await request("PATCH", `/api/uploads/${id}`, headers, slice, (loaded) => show(file, offset + loaded));
  if (call.status === 409) { // the server has more or less than we thought, or still holds the request that broke off
    const there = await offsetOf(id);
    if (there === offset) throw new Error(sentenceOf(call));
    return there;
  }
  return answer(expect(call, 200, 201, 204)).received ?? offset + slice.size;
}

async function rest(tried) {
  say("The upload was cut short. Trying again …");
  await new Promise((resolve) => { setTimeout(resolve, Math.min(1000 * 2 ** tried, 20000)); });
}

async function sendAll(file) {
  let place = null;
  for (let tried = 0; !paused;) {
    try {
      place ??= await begin(file);
      place.offset ??= await offsetOf(place.id);
      if (place.offset === null) throw new Refused("The server no longer knows this upload. Send it again.", 404);
      show(file, place.offset);
      if (place.offset >= file.size) return place.id;
      place.offset = await sendSlice(file, place.id, place.offset);
      tried = 0;
    } catch (problem) {
      if (problem instanceof Refused) throw problem;
      if (paused) break;
      if (tried >= TRIES) throw problem;
      await rest(tried);
      tried += 1;
      if (place) place.offset = null;
    }
  }
  return null;
}

function stopped(sentence, label) {
  say(sentence);
  send.disabled = false;
  send.textContent = label;
  pause.hidden = true;
}

async function upload(file) {
  paused = false;
  send.disabled = true;
  pause.hidden = false;
  bar.hidden = false;
  try {
    const id = await sendAll(file);
    if (id === null) {
      stopped("Paused. What has arrived is kept.", "Go on");
      return;
    }
    localStorage.removeItem(memory(file));
    say("Arrived. Opening the report …");
    location.assign(`/uploads/${id}`);
  } catch (problem) {
    if (problem.isLost) localStorage.removeItem(memory(file));
    stopped(problem instanceof Refused ? problem.message : `${problem.message}. What has arrived is kept.`, "Try again");
  }
}

function chosen() {
  const file = field.files[0];
  const tooLarge = file && file.size > most;
  field.setCustomValidity(tooLarge ? `The archive has ${human(file.size)}; at most ${human(most)} are taken.` : "");
  bar.hidden = true;
  send.textContent = "Upload and check";
  if (!file) say("");
  else if (tooLarge) say(field.validationMessage);
  else if (localStorage.getItem(memory(file))) say("Part of this file has arrived before; it goes on from there.");
  else say(`${file.name}, ${human(file.size)}`);
}

function lit(on) {
  form.classList.toggle("over", on);
}

field.addEventListener("change", chosen);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (field.files[0]) upload(field.files[0]);
});
pause.addEventListener("click", () => {
  paused = true;
  moving?.abort();
});
form.addEventListener("dragover", (event) => {
  event.preventDefault();
  lit(true);
});
form.addEventListener("dragleave", () => lit(false));
form.addEventListener("drop", (event) => {
  event.preventDefault();
  lit(false);
  if (!event.dataTransfer.files.length) return;
  field.files = event.dataTransfer.files;
  chosen();
});
