/** Everything that changed as one patch that `git apply` takes, saved as a file. */
import type { SessionCalls } from "../../../../src/client/client.ts";
import { size } from "../../../../src/wire/format.ts";
import { saveFile } from "../../actions/save-file.ts";
import { shortId } from "../../parts/short-id.ts";

interface Asked {
  readonly session: string;
  readonly at: string | undefined;
  readonly from: string | undefined;
}

/** Says what became of it. */
export async function downloadPatch(sessions: SessionCalls, { session, at, from }: Asked): Promise<string> {
  const patch = await (await sessions.patch(session, { at, from })).blob();
  if (patch.size === 0) return "Nothing is different: there is no patch";
  saveFile(`${shortId(session)}.patch`, patch);
  return `Saved a patch of ${size(patch.size)}: git apply takes it`;
}
