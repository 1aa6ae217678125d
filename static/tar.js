// Packs files into one uncompressed tar (ustar), without reading them: a Blob refers to its parts.
"use strict";

const TAR_BLOCK = 512;
const TAR_NAME = 100; // bytes of a name
const TAR_PREFIX = 155; // bytes of the folders before it
const TAR_MAX_FILE = 8 ** 11 - 1; // bytes that eleven octal digits can say

class TarError extends Error {}

function tarPath(path) {
  const bytes = new TextEncoder().encode(path);
  if (bytes.length <= TAR_NAME) return { prefix: "", name: path };
  for (let slash = path.indexOf("/"); slash >= 0; slash = path.indexOf("/", slash + 1)) {
    const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)];
    const fits = (text, most) => new TextEncoder().encode(text).length <= most;
    if (fits(prefix, TAR_PREFIX) && fits(name, TAR_NAME)) return { prefix, name };
  }
  throw new TarError(`The path ${path} is too long to be packed.`);
}

function tarHeader(path, size) {
  if (size > TAR_MAX_FILE) throw new TarError(`${path} is too large to be packed.`);
  const { prefix, name } = tarPath(path);
  const block = new Uint8Array(TAR_BLOCK);
  const put = (text, start) => block.set(new TextEncoder().encode(text), start);
  const octal = (number, digits) => number.toString(8).padStart(digits, "0");
  put(name, 0);
  put("0000644\0", 100);
  put("0000000\0", 108);
  put("0000000\0", 116);
  put(`${octal(size, 11)}\0`, 124);
  put(`${octal(0, 11)}\0`, 136);
  put(" ".repeat(8), 148);
  put("0", 156);
  put("ustar\u000000", 257);
  put(prefix, 345);
  put(`${octal(block.reduce((sum, byte) => sum + byte, 0), 6)}\0 `, 148);
  return block;
}

// `files` are pairs of path and File; the same files give the same bytes in whatever order they come.
function packTar(files, name) {
  const parts = [];
  const sorted = [...files].sort((one, other) => (one.path < other.path ? -1 : 1));
  for (const { path, file } of sorted) {
    parts.push(tarHeader(path, file.size), file);
    const rest = file.size % TAR_BLOCK;
    if (rest) parts.push(new Uint8Array(TAR_BLOCK - rest));
  }
  parts.push(new Uint8Array(2 * TAR_BLOCK));
  const lastModified = Math.max(...sorted.map(({ file }) => file.lastModified));
  return new File(parts, name, { type: "application/x-tar", lastModified });
}
