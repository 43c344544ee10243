/** The process that dies: it begins the run and is killed while it uploads. `node --import tsx doomed.ts FOLDER` */
import { openrath } from "../../src/index.ts";
import { boardOf, placed, settings, upload } from "./rich.ts";

const [folder = ""] = process.argv.slice(2);
const deps = {
  upload: async (version: string): Promise<string> => {
    await upload(folder, version);
    process.stdout.write("uploading\n");
    return new Promise(() => setInterval(() => {}, 1000));
  },
};
const rath = openrath(settings({ folder, board: await boardOf(folder) }, deps));
const run = await rath.run("repair", placed(rath, folder), { key: "repair", limits: { usd: 5 } });
console.error(await run.settle());
