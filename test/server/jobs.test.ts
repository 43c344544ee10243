/** Exports and dossiers as jobs, and imports: made by any server that is asked, fetched by whoever may read the session. */
import { createHash } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { writeFormats } from "../../src/audit/export/write.ts";
import { openrath } from "../../src/openrath.ts";
import { heedErasures } from "../../src/runtime/heed-erasures.ts";
import { runtimeOf } from "../../src/runtime/replay.ts";
import { jobIdOf } from "../../src/server/job-name.ts";
import { Jobs } from "../../src/server/jobs.ts";
import { Projects } from "../../src/server/projects.ts";
import { Flow } from "../support/flow.ts";
import { until } from "../support/processes.ts";
import { type Answer, type Caller, type ServedRath, serve } from "../support/served.ts";
import { worked } from "../support/worked.ts";

async function session(caller: Caller, message = "Hello"): Promise<Answer> {
  const run = await caller.ask("startRun", {}, { workflow: "echo", message });
  const { session: made } = await caller.ask("getResult", { run: run.id, wait: 10 });
  return made;
}

async function over(caller: Caller, job: string): Promise<Answer> {
  await expect.poll(async () => (await caller.ask("getJob", { job })).status, { interval: 5, timeout: 10_000 }).toMatch(/done|failed/);
  return caller.ask("getJob", { job });
}

const upload = (
  server: ServedRath,
  bytes: string | ArrayBuffer | ReadableStream<Uint8Array>,
  headers: Record<string, string> = {},
): Promise<Response> =>
  server.fetch(new Request("http://localhost/v1/imports", { method: "POST", body: bytes, headers, duplex: "half" } as RequestInit));

// A folder of its own: other files make jobs too, at the same time.
const { TMPDIR } = process.env;
let temporary: string;
beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), "openrath-jobs-test-"));
  process.env["TMPDIR"] = temporary;
});
afterAll(async () => {
  if (TMPDIR === undefined) delete process.env["TMPDIR"];
  else process.env["TMPDIR"] = TMPDIR;
  await rm(temporary, { recursive: true });
});

const folders = async (): Promise<number> => (await readdir(tmpdir())).filter((name) => name.startsWith("openrath-jobs-")).length;

describe("an export", () => {
  // Mutants: the route is not noted; all of jobs is; one that is not there yet is.
  test("that is fetched is in the access log, also one that nobody asked for, and waiting for it is not", async () => {
    await using server = await worked();
    const { id, head } = await session(server);
    const viewer = await server.as("human:vi", ["viewer"]);
    const job = jobIdOf({ kind: "export", session: id, head, options: { format: "bundle" } });
    expect((await viewer.response("getJobResult", { job })).status).toBe(202);
    await over(viewer, job);
    expect((await viewer.response("getJobResult", { job })).status).toBe(200);
    const jobs = async (): Promise<Answer[]> =>
      (await server.ask("listAccess")).items.filter(({ route }: Answer) => route.startsWith("/v1/jobs/"));
    await expect.poll(jobs, { timeout: 10_000 }).not.toEqual([]);
    expect(await jobs()).toMatchObject([
      { identity: "human:vi", method: "GET", route: "/v1/jobs/{job}/result", about: `job=${job}`, status: 200 },
    ]);
  });

  test("is made in every format, to be saved and never shown", async () => {
    await using server = await worked();
    const { id, head } = await session(server, "</script><script>alert(1)</script>");
    for (const format of writeFormats) {
      const job = await server.ask("startExport", { session: id }, { format });
      expect(job).toMatchObject({ kind: "export", session: id, head });
      expect(await over(server, job.id)).toMatchObject({ status: "done", files: [{ bytes: expect.any(Number) }] });
      const response = await server.response("getJobResult", { job: job.id });
      const text = await response.text();
      expect(response.headers.get("content-disposition")).toMatch(/^attachment; /);
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("content-length")).toBe(String(Buffer.byteLength(text)));
      if (format === "html") expect(text).not.toContain("<script>alert");
    }
  });

  // Mutant: the id has a random part, or jobs are known by their server alone.
  test("has the same id on every server, and one that never heard of it makes the same bytes", async () => {
    await using server = await worked();
    const { id } = await session(server);
    const job = await server.ask("startExport", { session: id.slice(0, 13) }, { format: "bundle" });
    expect((await server.ask("startExport", { session: id }, { format: "bundle" })).id).toBe(job.id);
    await over(server, job.id);
    // Mutant: what is read from an id is not written again and compared.
    const spelt = Buffer.from(`${Buffer.from(job.id, "base64url").toString()} `).toString("base64url");
    expect(await server.refused("getJob", { job: spelt })).toMatchObject({ status: 404, code: "request.not-found" });
    const other = server.another();
    const begun = await other.response("getJobResult", { job: job.id });
    expect(begun.status).toBe(202);
    await over(other, job.id);
    const digest = async (one: ServedRath) =>
      createHash("sha256")
        .update(await (await one.response("getJobResult", { job: job.id })).text())
        .digest("hex");
    expect(await digest(other)).toBe(await digest(server));
  });

  test("is of the session as it stood, and imported elsewhere it is the same session", async () => {
    await using server = await worked();
    const { id, head } = await session(server);
    const job = await server.ask("startExport", { session: id, at: 2 }, { format: "bundle" });
    expect(job.head).not.toBe(head);
    const whole = await server.ask("startExport", { session: id }, { format: "bundle" });
    await over(server, whole.id);
    const bytes = await (await server.response("getJobResult", { job: whole.id })).arrayBuffer();
    await using elsewhere = await worked();
    const answer = await upload(elsewhere, bytes);
    expect([answer.status, await answer.json()]).toMatchObject([201, { id, head, text: "Hello" }]);
    expect(await elsewhere.ask("getSession", { session: id })).toMatchObject({ id, head });
  });

  test("of another project cannot be begun, watched or fetched", async () => {
    await using server = await worked();
    const { id } = await session(server);
    const { id: job } = await server.ask("startExport", { session: id }, { format: "bundle" });
    await over(server, job);
    const eve = await server.as("human:eve", ["admin"], { project: "other" });
    expect(await eve.refused("startExport", { session: id }, { format: "bundle" })).toMatchObject({ status: 404 });
    for (const route of ["getJob", "getJobResult"])
      expect(await eve.refused(route, { job })).toMatchObject({ status: 404, code: "session.not-found" });
    await eve.response("cancelJob", { job });
    expect((await server.ask("getJob", { job })).status).toBe("done");
  });

  test("is made again when it was removed, goes with what is erased, and with its server", async () => {
    // Those of other processes come and go: this one has a place of its own.
    const own = await mkdtemp(join(tmpdir(), "openrath-own-"));
    onTestFinished(() => rm(own, { recursive: true, force: true }));
    vi.stubEnv("TMPDIR", own);
    onTestFinished(() => void vi.unstubAllEnvs());
    {
      await using server = await worked();
      const { id } = await session(server, "a secret");
      const { id: job } = await server.ask("startExport", { session: id }, { format: "markdown" });
      await over(server, job);
      expect((await server.response("cancelJob", { job })).status).toBe(204);
      expect((await server.ask("getJob", { job })).status).toMatch(/queued|running/);
      await over(server, job);
      expect(await folders()).toBe(1);
      await server.ask("deleteSession", { session: id, reason: "asked for" });
      expect(await (await server.response("getJobResult", { job })).text()).not.toContain("a secret");
    }
    expect(await folders()).toBe(0);
  });

  // Mutant: what is known of a job counts whatever was erased since.
  test("goes with what is erased in another process", async () => {
    await using server = await worked();
    const { id } = await session(server, "a secret");
    const { id: job } = await server.ask("startExport", { session: id }, { format: "markdown" });
    await over(server, job);
    await server.another().ask("deleteSession", { session: id, reason: "asked for" });
    const runtime = runtimeOf(server.rath.session());
    expect(await heedErasures(runtime, 0)).toBeGreaterThan(0);
    expect(await (await server.response("getJobResult", { job })).text()).not.toContain("a secret");
    await over(server, job);
    expect(await (await server.response("getJobResult", { job })).text()).not.toContain("a secret");
  });

  // Mutants: what is done is handed out whatever was written since; what is asked for again is always made again.
  test("is made again when something was written beside it, but not while somebody fetches it", async () => {
    await using server = await worked();
    const { id } = await session(server);
    const ask = (): Promise<Answer> => server.ask("startExport", { session: id }, { format: "mermaid" });
    const { id: job } = await ask();
    await over(server, job);
    expect(await ask()).toMatchObject({ id: job, status: "done" });
    await server.ask("forkSession", { session: id }, { label: "beside" });
    // A fork is a session of its own: the one that was asked for stands where it stood.
    expect(await server.ask("getJob", { job })).toMatchObject({ status: "done" });
    expect(await (await server.response("getJobResult", { job })).text()).not.toContain("beside");
    const again = await ask();
    expect([again.id, again.status]).toEqual([job, expect.stringMatching(/queued|running/)]);
    await over(server, job);
    expect(await (await server.response("getJobResult", { job })).text()).toContain("beside");
  });

  // Mutants: a folder that could not be made is kept as such; nobody looks whether it is still there; closing waits for it.
  test("is made once there is a place for it again, and its server ends without one", async () => {
    await using server = await worked();
    const { id } = await session(server);
    const exported = async (one: ServedRath): Promise<Answer> =>
      over(one, (await one.ask("startExport", { session: id }, { format: "markdown" })).id);
    process.env["TMPDIR"] = join(temporary, "not", "there");
    try {
      for (const one of [server, server.another()])
        expect(await exported(one)).toMatchObject({ status: "failed", error: { code: "export.failed" } });
    } finally {
      process.env["TMPDIR"] = temporary;
    }
    expect(await exported(server)).toMatchObject({ status: "done" });
    const [made = "", ...others] = (await readdir(temporary)).filter((name) => name.startsWith("openrath-jobs-"));
    expect(others).toEqual([]);
    // As whatever tidies folders of temporary files does.
    await rm(join(temporary, made), { recursive: true });
    await server.ask("noteInSession", { session: id }, { text: "more" });
    expect(await exported(server)).toMatchObject({ status: "done" });
  });

  // Mutants: a running one is begun anew when the store has more in it; a full queue drops what was made.
  test("that is asked for again while it runs goes on, and what is done stays where there is no room for a new one", async () => {
    await using server = await worked();
    await using rath = openrath({ store: server.file });
    const projects = new Projects(rath, 1);
    const jobs = new Jobs({ jobs: 1, jobBytes: 1e9 }, projects);
    const session = await rath.session("go").do("work", () => 1);
    const begin = (longest: number, place: string) => {
      const name = { session: session.id, head: session.head, kind: "export", options: { format: "markdown", longest } } as const;
      return jobs.begin(projects.own, name, session, { erasures: 0, place }).status;
    };
    expect(["queued", "running"]).toContain(begin(5000, "1"));
    expect([begin(5000, "2"), begin(5000, "3")]).toEqual(["running", "running"]);
    await until(() => begin(5000, "1") === "done", "it to be done");
    // One runs, and so many wait.
    for (let i = 1; i <= 21; i++) begin(5000 + i, "1");
    expect(() => begin(5000, "4")).toThrow(/already in the queue/);
    expect(begin(5000, "1")).toBe("done");
    await jobs.close();
    await projects.close();
  });

  // Mutant: those of all projects are counted alone.
  test("of one project leaves room for those of others", async () => {
    await using server = await worked();
    await using rath = openrath({ store: server.file });
    const projects = new Projects(rath, 1);
    const jobs = new Jobs({ jobs: 0, jobBytes: 1 }, projects); // none is made
    const place = { session: "s", head: "h", kind: "export" } as const;
    const begin = (longest: number, project = projects.own.project): string =>
      jobs.begin({ ...projects.own, project }, { ...place, options: { format: "markdown", longest } }, rath.session(), {
        erasures: 0,
        place: "",
      }).status;
    for (let i = 1; i <= 20; i++) expect(begin(i)).toBe("queued");
    expect(() => begin(21)).toThrow(/20 exports of this project already in the queue/);
    expect([begin(20), begin(21, "other")]).toEqual(["queued", "queued"]);
    await jobs.close();
    await projects.close();
  });

  // Mutant: nothing is removed to make room.
  test("takes no more room than there is: the one asked for longest ago goes, and one that is too large fails", async () => {
    await using server = await worked({ limits: { jobBytes: 20_000 } });
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) {
      const { id } = await session(server, `${i}`.repeat(3000));
      const { id: job } = await server.ask("startExport", { session: id }, { format: "bundle" });
      const { status, files } = await over(server, job);
      expect(status).toBe("done");
      // Two of them do not fit.
      expect(files[0].bytes).toBeGreaterThan(10_000);
      ids.push(job);
    }
    expect((await server.ask("getJob", { job: ids[2] as string })).status).toBe("done");
    expect((await server.ask("getJob", { job: ids[0] as string })).status).not.toBe("done");
    const { id } = await session(server, "x".repeat(20_000));
    const { id: large } = await server.ask("startExport", { session: id }, { format: "bundle" });
    expect(await over(server, large)).toMatchObject({
      status: "failed",
      error: { code: "export.failed", message: expect.stringContaining("20000") },
    });
    expect(await server.refused("getJobResult", { job: large })).toMatchObject({ status: 422, code: "export.failed" });
  });
});

describe("a dossier", () => {
  test("is a page, and the files beside it by name; no other file can be had", async () => {
    await using server = await worked();
    const { id } = await session(server);
    const { id: job } = await server.ask("startDossier", { session: id });
    const { files, progress } = await over(server, job);
    expect(files.map(({ path }: Answer) => path)).toEqual(
      expect.arrayContaining(["index.html", "manifest.json", "SHA256SUMS", "session/session.jsonl"]),
    );
    expect(progress.done).toBeGreaterThanOrEqual(0);
    const page = await server.response("getJobResult", { job });
    expect([page.headers.get("content-type"), (await page.text()).slice(0, 15)]).toEqual(["text/html; charset=utf-8", "<!doctype html>"]);
    expect(page.headers.get("content-security-policy")).toContain("sandbox");
    for (const { path, bytes } of files) {
      const file = await server.response("getJobResult", { job, file: path });
      expect((await file.arrayBuffer()).byteLength, path).toBe(bytes);
    }
    for (const file of ["../../etc/passwd", "/etc/passwd", "session", "index.html/..", "INDEX.HTML"])
      expect(await server.refused("getJobResult", { job, file }), file).toMatchObject({ status: 404, code: "request.not-found" });
  });
});

describe("a page for somebody who may only read", () => {
  // Mutants: the job replays whoever asks; whether it does is no part of its name.
  test("is made without executing the workflow, says so, and is not the one of somebody who may", async () => {
    let executed = 0;
    const count = new Flow((session) => {
      executed++;
      return session.do("work", () => 1);
    }, "count");
    await using server = serve(openrath({ store: "memory", workflows: { count } }));
    const { id } = await (await server.rath.run("count", server.rath.session("Go"))).result();
    const before = executed;
    const [viewer, operator] = [await server.as("human:vi", ["viewer"]), await server.as("human:op", ["operator"])];
    const read = async (caller: Caller, job: string, file?: string): Promise<string> => {
      expect(await over(caller, job)).toMatchObject({ status: "done" });
      return (await caller.response("getJobResult", { job, file })).text();
    };
    const pages = async (caller: Caller): Promise<[string, string]> => [
      (await caller.ask("startDossier", { session: id })).id,
      (await caller.ask("startExport", { session: id }, { format: "html" })).id,
    ];
    const theirs = await pages(viewer);
    for (const job of theirs) expect(await read(viewer, job)).toContain("not asked for when this was written");
    expect(JSON.parse(await read(viewer, theirs[0], "verification.json")).replay).toMatchObject({ done: false, workflow: "count" });
    expect(executed).toBe(before);
    const [dossier, page] = await pages(operator);
    for (const job of [dossier, page]) {
      // Nobody has made it yet where the viewer asks.
      await operator.response("cancelJob", { job });
      expect(await viewer.refused("getJob", { job })).toMatchObject({ status: 403, details: { needs: "runs:write" } });
      expect(await read(operator, job)).not.toContain("not asked for");
    }
    expect(executed).toBeGreaterThan(before);
    const now = executed;
    // What was made is a file like any other.
    expect(await read(viewer, page)).not.toContain("not asked for");
    expect(executed).toBe(now);
    expect([theirs, dossier, page].flat()).toHaveLength(new Set([theirs, dossier, page].flat()).size);
  });
});

describe("hostile input", () => {
  const place = { session: "00000000-0000-7000-8000-000000000000", head: "0".repeat(64) };
  const named = (value: unknown): string => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
  test.each([
    ["no JSON", "x"],
    ["another kind", named({ ...place, kind: "shell", options: {} })],
    ["a session that is a path", named({ ...place, session: "../../../../../../../../../etc/passwd", kind: "dossier", options: {} })],
    ["options of its own", named({ ...place, kind: "dossier", options: { directory: "/tmp/x" } })],
    [
      "a session that is not there",
      named(`{"head":"${place.head}","kind":"dossier","options":{},"replay":false,"session":"${place.session}"}`),
    ],
  ])("a job with %s is none", async (_, job) => {
    await using server = await worked({ idle: true });
    for (const route of ["getJob", "getJobResult"]) expect((await server.refused(route, { job })).status).toBe(404);
  });

  test.each([
    ["a format that there is not", { format: "exe" }],
    ["options of another format", { format: "bundle", content: true }],
    ["a file to write to", { format: "bundle", file: "/tmp/x" }],
    ["nothing", {}],
  ])("an export with %s is refused", async (_, body) => {
    await using server = await worked({ idle: true });
    const { id } = await server.ask("createSession", {}, { message: "x" });
    expect(await server.refused("startExport", { session: id }, body)).toMatchObject({ status: 400, code: "request.invalid" });
  });

  // Mutant: the first line is stored before the last one is checked.
  test("a bundle that was changed, cut off, too large or none is refused, and nothing of it is stored", async () => {
    await using server = await worked({ limits: { upload: 20_000 } });
    const { id } = await session(server);
    const { id: job } = await server.ask("startExport", { session: id }, { format: "bundle" });
    await over(server, job);
    const text = await (await server.response("getJobResult", { job })).text();
    await using elsewhere = await worked({ idle: true, limits: { upload: 20_000 } });
    const lines = text.split("\n");
    for (const [bytes, status] of [
      [text.replace('"log":', '"lag":'), 422],
      [lines.slice(0, -2).join("\n"), 422],
      [text.slice(0, -20), 422],
      ["", 422],
      ["\u0000\u0001", 422],
      ["x".repeat(20_001), 413],
    ] as const) {
      const answer = await upload(elsewhere, bytes);
      expect([answer.status, Object.keys((await answer.json()) as object)], bytes.slice(0, 40)).toEqual([status, ["error"]]);
    }
    const endless = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(new Uint8Array(5000).fill(120)) });
    expect((await upload(elsewhere, endless)).status).toBe(413);
    expect((await elsewhere.ask("getSessions")).items).toEqual([]);
    const viewer = await elsewhere.as("human:vi", ["viewer"]);
    expect((await viewer.response("importSession")).status).toBe(403);
    expect((await upload(elsewhere, text)).status).toBe(201);
  });

  // Mutant: whoever may decide may import anybody's.
  test("a bundle of somebody else's session needs a key that acts for people; one's own does not", async () => {
    await using server = await worked({ idle: true });
    await using elsewhere = await worked({ idle: true });
    const { token } = await elsewhere.ask("createKey", {}, { identity: "human:bo", roles: ["operator", "approver"] });
    for (const [principal, status] of [
      ["human:ada", 403],
      ["human:bo", 201],
    ] as const) {
      const { id } = await server.ask("createSession", {}, { message: "x", principal });
      const { id: job } = await server.ask("startExport", { session: id }, { format: "bundle" });
      await over(server, job);
      const bundle = await (await server.response("getJobResult", { job })).text();
      const answer = await upload(elsewhere, bundle, { authorization: `Bearer ${token}` });
      expect([principal, answer.status]).toEqual([principal, status]);
      if (status === 403) expect(await answer.json()).toMatchObject({ error: { details: { needs: "people:act" } } });
      expect((await elsewhere.ask("getSessions")).items).toHaveLength(status === 201 ? 1 : 0);
    }
  });
});
