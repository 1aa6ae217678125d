// Sends a file by tus-js-client with progress, a pause and resumption; the forms of archives and of data files use it.
"use strict";

const RETRY_DELAYS = [0, 1000, 2000, 4000, 8000, 16000, 20000, 20000]; // milliseconds
const LOST = "The connection is lost. What has arrived is stored.";

function human(bytes) {
  if (bytes < 1024) return `${bytes} byte${bytes === 1 ? "" : "s"}`;
  return bytes < 1024 * 1024 ? `${Number((bytes / 1024).toFixed(1))} KiB` : `${Number((bytes / 1024 / 1024).toFixed(1))} MiB`;
}

// What the server says of a refusal, or that the connection is lost.
function reasonOf(error) {
  try {
    const { title, detail, problems = [] } = JSON.parse(error.originalResponse.getBody());
    return [detail ?? title, ...problems.map((problem) => problem.message)].join("; ");
  } catch {
    return error.originalResponse ? `The server answered ${error.originalResponse.getStatus()}.` : LOST;
  }
}

class Sender {
  // `last`: what is said after the last byte, while the server answers.
  constructor(form, last) {
    this.last = last;
    this.bar = document.getElementById("upload-progress");
    this.state = document.getElementById("upload-state");
    this.rest = document.getElementById("upload-rest");
    this.pause = document.getElementById("upload-pause");
    this.button = form.querySelector("[type=submit]");
    this.label = this.button.textContent;
    this.upload = null;
    this.started = { at: 0, sent: null }; // when bytes began to flow, and where
    this.pause.addEventListener("click", async () => {
      await this.upload.abort();
      this.stop("Paused. What has arrived is stored.", "Continue");
    });
  }

  say(message) {
    if (this.state.textContent !== message) this.state.textContent = message;
  }

  stop(message, label) {
    this.say(message);
    this.rest.textContent = "";
    this.button.disabled = false;
    this.button.textContent = label;
    this.pause.hidden = true;
  }

  // Stops and forgets what is sent, because another file is chosen.
  reset() {
    this.upload?.abort();
    this.upload = null;
    this.bar.hidden = true;
    this.stop("", this.label);
  }

  // Sends a file, or goes on with it; `created` and `done` get the address of the upload, when there is one and at the end.
  async start(file, endpoint, done, created = () => {}) {
    this.button.disabled = true;
    this.pause.hidden = false;
    this.bar.hidden = false;
    this.started = { at: 0, sent: null };
    if (!this.upload) {
      this.upload = this.#uploadOf(file, endpoint, done, created);
      const [previous] = await this.upload.findPreviousUploads();
      if (previous) this.upload.resumeFromPreviousUpload(previous);
    }
    this.upload.start();
  }

  #uploadOf(file, endpoint, done, created) {
    const upload = new tus.Upload(file, {
      endpoint,
      retryDelays: RETRY_DELAYS,
      metadata: { filename: file.name },
      removeFingerprintOnSuccess: true,
      onUploadUrlAvailable: () => created(upload.url),
      onProgress: (sent, size) => this.#show(sent, size),
      onError: (error) => {
        this.upload = null;
        this.stop(reasonOf(error), "Try again");
      },
      onSuccess: () => done(upload.url),
    });
    return upload;
  }

  // How long the rest takes is for the eyes only, as a screen reader would read every change.
  #show(sent, size) {
    this.bar.max = size;
    this.bar.value = sent;
    this.bar.textContent = `${Math.floor((100 * sent) / size)} %`;
    if (this.started.sent === null) this.started = { at: Date.now(), sent };
    const seconds = Math.ceil(((size - sent) * (Date.now() - this.started.at)) / 1000 / (sent - this.started.sent));
    const left = seconds > 60 ? `${Math.ceil(seconds / 60)} min` : `${seconds} s`;
    this.rest.textContent = sent < size ? `${this.bar.textContent}${Number.isFinite(seconds) ? `, about ${left} left` : ""}` : "";
    this.say(sent < size ? `Sending ${human(size)} …` : this.last);
  }
}
