// `npm run sbom`: writes sbom.cdx.json (CycloneDX), with everything that is installed with the package and everything that is bundled
// into it, and fails when a licence among them is not allowed. Needs a build; asks no network.

import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundled, isAllowed, licenceOf } from "./licences.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const notices = ["dist", "dist/inspector"].flatMap((folder) =>
  bundled(readFileSync(join(root, folder, "THIRD-PARTY.md"), "utf8")).map((notice) => ({ ...notice, folder })),
);
const sbom = installed();
const components = notices.map(({ name, version, licence, folder }) => ({
  ...{ "bom-ref": `${folder}/${name}@${version}`, type: "library", name, version, scope: "required" },
  purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
  properties: [{ name: "openrath:bundled-in", value: folder }],
  licenses: [licence.includes(" ") ? { expression: licence } : { license: { id: licence } }],
}));
sbom.components.push(...components);
const { "bom-ref": own } = sbom.metadata.component;
sbom.dependencies.find(({ ref }) => ref === own).dependsOn.push(...components.map((component) => component["bom-ref"]));
writeFileSync(join(root, "sbom.cdx.json"), `${JSON.stringify(sbom, undefined, 2)}\n`);

const counts = count(sbom.components);
console.log(`sbom.cdx.json: ${sbom.components.length} components, ${notices.length} of them bundled`);
for (const [licence, number] of counts) console.log(`  ${number}  ${licence}`);
const wrong = sbom.components.filter((component) => !isAllowed(licenceOf(component)));
for (const component of wrong)
  console.error(`not allowed: ${component.name}@${component.version}: ${licenceOf(component) || "no licence"}`);
process.exitCode = wrong.length === 0 ? 0 : 1;

/** What npm says of the lock file without what only developers and optional peers bring: its own `--omit dev` also leaves out what both need. */
function installed() {
  const folder = mkdtempSync(join(tmpdir(), "openrath-sbom-"));
  try {
    const { name, version, license, description, dependencies, optionalDependencies } = JSON.parse(
      readFileSync(join(root, "package.json"), "utf8"),
    );
    writeFileSync(
      join(folder, "package.json"),
      JSON.stringify({ name, version, license, description, dependencies, optionalDependencies }),
    );
    copyFileSync(join(root, "package-lock.json"), join(folder, "package-lock.json"));
    npm(folder, "install", "--package-lock-only", "--ignore-scripts", "--offline", "--no-audit");
    const found = JSON.parse(npm(folder, "sbom", "--sbom-format", "cyclonedx", "--package-lock-only"));
    found.metadata.component.name = name; // npm takes the folder's
    return found;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function npm(cwd, ...args) {
  const { status, stdout, stderr } = spawnSync("npm", args, { cwd, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  if (status !== 0) throw new Error(`npm ${args.join(" ")} failed\n${stdout}${stderr}`);
  return stdout;
}

function count(components) {
  const found = new Map();
  for (const component of components) found.set(licenceOf(component), (found.get(licenceOf(component)) ?? 0) + 1);
  return [...found].sort(([, a], [, b]) => b - a);
}
