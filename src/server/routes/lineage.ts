/** Everything on every branch at once, as an index. */
import { branchesOf } from "../../audit/branches.ts";
import { inOrder } from "../../audit/lineage-events.ts";
import { heedErasures } from "../../runtime/heed-erasures.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Session } from "../../session/session.ts";
import { type LineageIndex, lineageIndex } from "../../wire/api/lineage.ts";
import { ofSession } from "../../wire/api/place.ts";
import { columnsOf } from "../lineage-index.ts";
import { openSession } from "../open-session.ts";
import { type Call, route } from "../route.ts";

const mostRows = 300_000;

export const getLineage = route({
  name: "getLineage",
  at: "GET /v1/sessions/{session}/lineage",
  needs: "sessions:read",
  summary: "All events of a session and of every branch beside it, without what they say, as columns",
  params: ofSession,
  answer: lineageIndex,
  handle: async (call) => {
    // Before anything is read: what comes meanwhile is told twice rather than never.
    const cursor = await (await call.runtime.store()).fedTo();
    const session = await openSession(call, call.params.session);
    // What others erased is heeded a while after it was stored that they did.
    const erasures = await heedErasures(call.runtime);
    const known = answersOf(call.runtime);
    const before = known.get(session.id);
    const holds = before?.erasures === erasures && before.answer.cursor === cursor && before.answer.head === session.head;
    const answer = holds ? before.answer : await indexOf(session, cursor, call);
    known.delete(session.id);
    known.set(session.id, { answer, erasures });
    for (const oldest of known.keys()) if (known.size > mostKept) known.delete(oldest);
    return answer;
  },
});

async function indexOf(session: Session, cursor: string, { runtime, signal }: Call): Promise<LineageIndex> {
  const nodes = inOrder(await branchesOf(session, signal));
  const cut = Math.max(0, nodes.length - mostRows);
  return {
    ...{ session: session.id, head: session.head, cut },
    ...(cursor === "" ? {} : { cursor }),
    ...columnsOf(cut === 0 ? nodes : nodes.slice(cut), runtime.platform),
  };
}

interface Kept {
  readonly answer: LineageIndex;
  /** What was known to be erased when it was made. */
  readonly erasures: number;
}

/**
 * The newest answers of a project. One holds as long as nothing was stored since and nothing more is known to be erased: whoever comes
 * back to a large session waits once.
 */
const answers = new WeakMap<Runtime, Map<string, Kept>>();
const mostKept = 4;

function answersOf(runtime: Runtime): Map<string, Kept> {
  const known = answers.get(runtime) ?? new Map<string, Kept>();
  answers.set(runtime, known);
  return known;
}
