/** What the README says to type while the package is not on npm: the tarball in an empty folder, and a project that has it. */
import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

const readme = readFileSync(new URL("../../../README.md", import.meta.url), "utf8");

export async function fromTarball(project, tarball, empty) {
  const [begin, install] = [/`(npx --package \S+ openrath init agents)`/, /`(npm install \.\.\/\S+\.tgz)`/].map(
    (line) => line.exec(readme)?.[1],
  );
  assert.ok(begin?.includes(basename(tarball)) && install?.includes(basename(tarball)), "README.md names another tarball");
  mkdirSync(empty);
  cpSync(tarball, join(empty, basename(tarball)));
  await project.run(begin, empty);
  const agents = join(empty, "agents");
  await project.run(install, agents);
  const out = await project.run('npx openrath run assistant --input "How many words are in: to be or not to be"', agents);
  assert.match(out, /There are 6 words\./);
  return "There are 6 words.";
}
