import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

type Lock = {
  readonly packages: Readonly<
    Record<string, { readonly resolved?: string; readonly optionalDependencies?: Readonly<Record<string, string>> }>
  >;
};

test.each(["package-lock.json", "bench/package-lock.json", "test/nodes/package-lock.json", "deploy/package-lock.json"])(
  "%s has an entry for every platform and no download address",
  (file) => {
    const { packages } = JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")) as Lock;
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      path === ""
        ? []
        : Object.keys(optionalDependencies).filter(
            (name) => !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages),
          ),
    );
    expect(missing).toEqual([]);
    expect(Object.values(packages).filter(({ resolved }) => resolved?.startsWith("http"))).toEqual([]);
  },
);
