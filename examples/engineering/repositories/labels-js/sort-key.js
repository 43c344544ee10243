const plain = (text) => text.replace(/[îï]/g, "i");

/** What lists are sorted by: the family name first. */
export function sortKey(name) {
  return plain(name).split(" ").toReversed().join(" ");
}
