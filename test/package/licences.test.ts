/** What comes with the package may be passed on: licences of what is installed, and notices of what is bundled. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bundled, isAllowed } from "../../scripts/licences.mjs";
import { builtInspector, builtPackage } from "../support/built.ts";

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
interface Locked {
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

test("an expression is allowed when one may choose nothing but allowed licences", () => {
  expect(["MIT", "(MIT OR WTFPL)", "(BSD-2-Clause OR MIT OR Apache-2.0)", "MIT AND ISC"].map(isAllowed)).toEqual([true, true, true, true]);
  expect(["", "GPL-3.0-only", "MIT AND GPL-3.0-only", "SEE LICENSE IN LICENSE"].map(isAllowed)).toEqual([false, false, false, false]);
});

test("everything that is installed with the package has an allowed licence", () => {
  const { packages } = JSON.parse(read("package-lock.json")) as { readonly packages: Readonly<Record<string, Locked>> };
  const found = new Map<string, string>();
  const visit = (path: string): void => {
    const entry = packages[path];
    for (const name of Object.keys({ ...entry?.dependencies, ...entry?.optionalDependencies })) {
      // As Node looks for it: inside, then beside, then in every folder above.
      const folders =
        path === ""
          ? [""]
          : [`${path}/`, ...path.split("/node_modules/").map((_, index, all) => `${all.slice(0, index).join("/node_modules/")}/`)];
      const place = [...folders, ""].map((folder) => `${folder.replace(/^\/$/, "")}node_modules/${name}`).find((one) => one in packages);
      expect(place, `${name} of ${path}`).toBeDefined();
      if (place === undefined || found.has(place)) continue;
      found.set(place, packages[place]?.license ?? "");
      visit(place);
    }
  };
  visit("");
  expect(found.size).toBeGreaterThan(60);
  expect([...found].filter(([, licence]) => !isAllowed(licence))).toEqual([]);
});

test("the inspector brings the notices of what is bundled in it, and each is allowed", async () => {
  await builtInspector();
  const notices = bundled(read("dist/inspector/THIRD-PARTY.md")) as readonly Readonly<Record<"name" | "licence" | "text", string>>[];
  expect(notices.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["react", "react-dom", "shiki", "cmdk", "react-diff-view", "@tanstack/react-router"]),
  );
  expect(notices.filter(({ licence }) => !isAllowed(licence))).toEqual([]);
  // One package has no licence file of its own; its manifest says MIT.
  expect(notices.filter(({ text }) => text.length < 200).map(({ name }) => name)).toEqual(["react-remove-scroll-bar"]);
});

test("so does the rest of the package, for the code that bundlers add", async () => {
  const notices = bundled(readFileSync(join(await builtPackage(), "dist/THIRD-PARTY.md"), "utf8")) as readonly Readonly<
    Record<"name" | "licence" | "text", string>
  >[];
  expect(notices.map(({ name, licence }) => `${name} ${licence}`)).toEqual(["@oxc-project/runtime MIT", "rolldown MIT", "vite MIT"]);
  expect(notices.filter(({ text }) => !text.includes("Copyright") || text.length > 2000)).toEqual([]);
});
