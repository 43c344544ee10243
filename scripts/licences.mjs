// Which licences come with the package: of what is installed with it, and of what is bundled into the inspector.

/** Licences that ask for no more than a notice. */
export const allowed = new Set([
  "MIT",
  "MIT-0",
  "ISC",
  "0BSD",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "CC0-1.0",
  "Unlicense",
  "Zlib",
]);

/** Whether one may choose only allowed licences by an SPDX expression such as `(MIT OR WTFPL)`. */
export function isAllowed(expression) {
  const plain = expression.replaceAll(/[()]/g, " ").trim();
  return plain.split(/\s+OR\s+/).some((choice) => choice.split(/\s+AND\s+/).every((one) => allowed.has(one.trim())));
}

/** What the notices of the inspector say is bundled: `{ name, version, licence, text }`. */
export function bundled(notices) {
  return notices
    .split(/^## /m)
    .slice(1)
    .map((part) => {
      const [, name, version, licence] = /^(\S+) - (\S+) \((.*)\)$/m.exec(part) ?? [];
      return {
        name: name ?? part.split("\n")[0],
        version: version ?? "",
        licence: licence ?? "",
        text: part.slice(part.indexOf("\n")).trim(),
      };
    });
}

/** The licence of a component of an SBOM, as one expression. */
export function licenceOf({ licenses = [] }) {
  return licenses.map(({ license, expression }) => expression ?? license?.id ?? license?.name ?? "").join(" AND ");
}
