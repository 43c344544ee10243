/** Whoever leaves costs nothing more, and a server that stops waits for no question that may take any time. */
import { describe, expect, test } from "vitest";
import { blame, cost, diff, graph, why } from "../../src/audit/audit.ts";
import { verify } from "../../src/audit/verify.ts";
import { replay } from "../../src/runtime/replay.ts";
import { servedBy } from "../../src/server/served.ts";
import { createServer } from "../../src/server/server.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { coded, coding } from "../support/coded.ts";
import { Flow } from "../support/flow.ts";
import { local } from "../support/local-call.ts";

describe("a question that nobody waits for any more", () => {
  test("ends with the reason, whichever it is", async () => {
    await using rath = testRath({ workflows: { coding: coding() }, implicitForks: "allow" });
    const session = await coded(rath);
    const gone = new Error("nobody waits");
    const signal = AbortSignal.abort(gone);
    const asked = [
      why(session, "src/a.ts:2", { signal }),
      why(session, { answer: "Done" }, { signal }),
      blame(session, "src/a.ts", { signal }),
      diff(session.at(3), session, { signal }),
      graph(session, { signal }),
      cost(session, { signal }),
      verify(session, { signal }),
      replay(session, coding(), { signal }),
    ];
    for (const ended of await Promise.allSettled(asked)) expect(ended).toMatchObject({ status: "rejected", reason: gone });
  });

  test("is given up by the server", async () => {
    await using rath = testRath({ workflows: { coding: coding() }, implicitForks: "allow" });
    const session = await coded(rath);
    const { fetch, close } = createServer(rath, { auth: "none-on-loopback" });
    for (const path of [
      ...["why?answer=Done", "blame?path=src/a.ts", "graph", "cost"].map((question) => `sessions/${session.id}/${question}`),
      `diff?a=${session.id}@3&b=${session.id}`,
    ]) {
      const request = new Request(`http://localhost/v1/${path}`, { signal: AbortSignal.abort() });
      const response = await fetch(request, local);
      expect([path, response.status]).toEqual([path, 408]);
      const answered = await fetch(new Request(`http://localhost/v1/${path}`), local);
      expect([path, answered.status]).toEqual([path, 200]);
    }
    await close();
  });

  test.each(["replay", "verify"])("is not waited for by a server that is closed: %s", async (question) => {
    let reached = (): void => {};
    const waits = new Promise<void>((resolve) => {
      reached = resolve;
    });
    let again = false;
    const flow = new Flow(async (session) => {
      if (again) {
        reached();
        await new Promise(() => {}); // something of the program's own that does not end
      }
      return session.do("work", () => 1);
    });
    await using rath = testRath({ workflows: { flow } });
    const session = await (await rath.run("flow", rath.session("go"))).result();
    again = true;
    const server = createServer(rath, { auth: "none-on-loopback" });
    const body = JSON.stringify(question === "verify" ? { replay: true } : {});
    const asked = server.fetch(
      new Request(`http://localhost/v1/sessions/${session.id}/${question}`, {
        ...{ method: "POST", body, headers: { "content-type": "application/json" } },
      }),
      local,
    );
    await waits;
    await server.close();
    const response = await asked;
    expect([response.status, await response.json()]).toMatchObject([503, { error: { code: "server.busy", retryable: true } }]);
    expect(servedBy(server).questions.all).toBe(0);
  });
});
