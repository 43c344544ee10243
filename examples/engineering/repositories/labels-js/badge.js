const plain = (text) => text.replace(/[éèê]/g, "e");

/** What stands on a badge. */
export function badge(name) {
  return plain(name).toUpperCase();
}
