const plain = (text) => text.replace(/[ùûü]/g, "u");

/** The first letters. */
export function initials(name) {
  return plain(name)
    .split(" ")
    .map((word) => word[0])
    .join("");
}
