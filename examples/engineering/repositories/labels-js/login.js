const plain = (text) => text.replaceAll("ñ", "n");

/** A short name to sign in with. */
export function login(name) {
  return plain(name).toLowerCase().replaceAll(" ", "").slice(0, 6);
}
