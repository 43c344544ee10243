/** The reference of the API: one page for each door of the package, by typedoc. */
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Application } from "typedoc";

/** Writes a page for each door, and gives their names. */
export async function writeApi(root: string, folder: string): Promise<readonly string[]> {
  const { exports } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, string>>;
  };
  const doors = Object.entries(exports).filter(([, file]) => file.endsWith(".js"));
  const sourceOf = (file: string): string => join(root, file.replace("./dist/", "src/").replace(/\.js$/, ".ts"));
  const title = ({ name }: { readonly name: string }): string => (name === "openrath" ? name : `openrath/${name}`);
  const app = await Application.bootstrapWithPlugins({
    options: join(root, "docs/typedoc.json"),
    entryPoints: doors.map(([, file]) => sourceOf(file)),
    pageTitleTemplates: { module: title },
  } as Parameters<typeof Application.bootstrapWithPlugins>[0]);
  const project = await app.convert();
  if (project === undefined) throw new Error("typedoc could not read the sources");
  // Modules are named by their files; readers know the doors. Where a thing stands in the sources helps nobody who has the package.
  for (const module of project.children ?? []) {
    const source = module.sources?.[0]?.fullFileName;
    const door = doors.find(([, file]) => sourceOf(file) === source)?.[0];
    if (door === undefined) throw new Error(`typedoc made a module of ${source}, which is no door`);
    module.name = door === "." ? "openrath" : door.slice(2);
  }
  for (const reflection of Object.values(project.reflections)) if ("sources" in reflection) delete reflection.sources;
  await rm(folder, { recursive: true, force: true });
  await app.generateOutputs(project);
  if (app.logger.hasErrors()) throw new Error("typedoc reported errors");
  const index = join(folder, "index.md");
  const said = "Each door of the package has a page, with everything that can be imported from it.";
  await writeFile(index, (await readFile(index, "utf8")).replace("# API\n", `# API\n\n${said}\n`));
  return (project.children ?? []).map(title);
}
