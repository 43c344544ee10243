const plain = (text) => text.replaceAll("ç", "c");

/** The local part of an address. */
export function email(name) {
  return plain(name).toLowerCase().replaceAll(" ", ".");
}
