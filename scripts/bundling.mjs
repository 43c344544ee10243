// How sources become bundles, for the package and for the processes of tests.

import { fileURLToPath } from "node:url";

/** @type {import("rolldown").InputOptions} */
export const bundling = {
  cwd: fileURLToPath(new URL("../", import.meta.url)),
  platform: "node",
  transform: { target: "es2023" },
  // Packages, but for the helper of `await using`, which the bundler brings.
  external: /^(?!@oxc-project\/)[@a-z]/,
  // Each is imported when it is needed, also where something else has loaded it already.
  checks: { ineffectiveDynamicImport: false },
};
