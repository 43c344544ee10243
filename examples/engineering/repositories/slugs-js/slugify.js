/** The part of an address that names a page. */
export function slugify(title) {
  return title.toLowerCase().replaceAll(" ", "-");
}
