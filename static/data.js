// Sends the bytes of a data file so that an interrupted upload goes on. Without a script the form sends them in one request.
"use strict";

const form = document.getElementById("upload");
const field = document.getElementById("field-file");
const sender = new Sender(form, "The server stores the file …");
const most = Number(form.dataset.most ?? Infinity);
let uploads = form.dataset.uploads; // where bytes are sent to; a new file has no such address before it is added

// Sends the form without the file, for the server to say what is wrong.
function sendPlainly() {
  field.disabled = true;
  const later = document.createElement("input");
  Object.assign(later, { type: "hidden", name: "later", value: "1" });
  form.append(later);
  form.submit();
}

// Adds a file without its bytes. Whether the server has added it.
async function add(file) {
  const facts = new FormData(form);
  facts.delete("file");
  facts.set("later", "1");
  if (!facts.get("name")) facts.set("name", file.name);
  const answer = await fetch(form.action, { method: "POST", body: facts });
  if (!answer.redirected || !answer.ok) return false;
  uploads = `/api/v1${new URL(answer.url).pathname}/uploads`;
  for (const each of form.querySelectorAll("input:not([type=file]), select, textarea")) each.disabled = true; // they are stored
  form.querySelector("[name=later]").hidden = true;
  return true;
}

async function send(file) {
  try {
    if (!uploads && !(await add(file))) return sendPlainly();
  } catch {
    return sender.stop("The connection is lost. Nothing was added.", "Try again");
  }
  const page = uploads.replace(/^\/api\/v1|\/uploads$/g, "");
  return sender.start(file, uploads, () => location.assign(page));
}

field.addEventListener("change", () => {
  const [file] = field.files;
  sender.reset();
  field.setCustomValidity(file && file.size > most ? `The file has ${human(file.size)}; ${human(most)} are left.` : "");
  if (file && !file.size) field.setCustomValidity(`${file.name} is empty.`);
  if (file) sender.say(field.validationMessage || `${file.name}, ${human(file.size)}`);
});
form.addEventListener("submit", (event) => {
  if (event.submitter?.name === "later") {
    field.disabled = true;
    return;
  }
  event.preventDefault();
  sender.button.disabled = true;
  send(field.files[0]);
});
