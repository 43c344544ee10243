// Which licences come with the package: of what is installed with it, and of what is bundled into it.
import { readFileSync } from "node:fs";

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

/** Code that a bundler adds, and the installed package that has its licence: the same project's, where it is no package of its own. */
const added = { "@oxc-project/runtime": "@oxc-project/types", rolldown: "rolldown", vite: "vite" };

/** The notice of code that a bundler adds, as vite writes those of packages. */
export function noticeOf(name, known) {
  if (!Object.hasOwn(added, name))
    throw new Error(`The bundle has code of ${name}, whose licence nobody has looked at: see scripts/licences.mjs.`);
  const folder = new URL(`../node_modules/${added[name]}/`, import.meta.url);
  const { version, license } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8"));
  const text = readFileSync(new URL(name === "vite" ? "LICENSE.md" : "LICENSE", folder), "utf8");
  // The file of vite goes on with the licences of what it bundles, of which nothing comes with this package.
  const own = text.slice(text.indexOf("MIT License")).split(/^# /m)[0];
  return `## ${name} - ${known ?? version} (${license})\n\n${own.trim()}\n`;
}

/** What notices say is bundled: `{ name, version, licence, text }`. */
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
