const plain = (text) => text.replace(/[àâ]/g, "a");

/** A name for a file. */
export function fileName(name) {
  return `${plain(name).replaceAll(" ", "_")}.pdf`;
}
