/** Dockerfile and compose.yaml: valid by the rules of their own formats, and in step with the code. No engine runs here. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import { validate } from "dockerfile-utils";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { call } from "../golden-cli/world.ts";

interface Service {
  readonly image?: string;
  readonly command?: readonly string[];
  readonly read_only?: boolean;
  readonly tmpfs?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly environment?: Readonly<Record<string, string | null>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
}

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (file: string): string => readFileSync(`${root}${file}`, "utf8");
const json = <T>(file: string): T => JSON.parse(read(file)) as T;
const dockerfile = read("Dockerfile");
const compose = parse(read("compose.yaml"), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, object>>;
  readonly volumes: Readonly<Record<string, object | null>>;
};
const ours = Object.entries(compose.services).filter(([, { image }]) => image === "openrath");
const main = "/app/node_modules/openrath/dist/cli/main.js";

/** Every instruction of one name, in order. */
function instructions(name: string): readonly string[] {
  return [...dockerfile.replaceAll("\\\n", " ").matchAll(new RegExp(`^${name} (.*)$`, "gm"))].map(([, text = ""]) => text.trim());
}

/** What a command that looks at an address answers when it is there, and when it is not. */
function probed(command: readonly string[], status: number): number | null {
  const [node, option, code = ""] = command;
  expect([node, option]).toEqual(["node", "--eval"]);
  const standIn = `globalThis.fetch = async () => ({ ok: ${status === 200} });`;
  return spawnSync(process.execPath, ["--eval", standIn + code]).status;
}

describe("the Dockerfile", () => {
  test("is valid", () => {
    expect(validate(dockerfile)).toEqual([]);
    expect(validate(dockerfile.replace("WORKDIR /build", "WORKDIRS /build"))).not.toEqual([]);
  });

  test("takes only files that exist and that the build may see", () => {
    const ignored = read(".dockerignore").split("\n");
    const copied = instructions("COPY")
      .filter((text) => !text.startsWith("--from"))
      .flatMap((text) => text.split(/\s+/).slice(0, -1))
      .filter((file) => file !== ".");
    expect(copied.length).toBeGreaterThan(8);
    expect(copied.filter((file) => !existsSync(`${root}${file}`))).toEqual([]);
    const seen = (file: string): boolean =>
      ignored.some((line) => line === `!${file}` || (line.startsWith("!") && file.startsWith(`${line.slice(1)}/`)));
    expect(copied.filter((file) => !seen(file))).toEqual([]);
    const compiled = Object.values(json<{ readonly include?: readonly string[] }>("tsconfig.build.json").include ?? []);
    expect(compiled.filter((file) => !seen(file))).toEqual([]);
  });

  test("ends as a user without rights, with its data in the volume and the command line as its entry", () => {
    const final = dockerfile.slice(dockerfile.lastIndexOf("\nFROM "));
    expect(final).toMatch(/^USER node$/m);
    expect(final).not.toMatch(/npm (?:ci|install)|--from=build \/build\/node_modules/);
    expect(instructions("VOLUME")).toEqual(["/data"]);
    expect(instructions("ENV")).toEqual(["NODE_ENV=production OPENRATH_HOME=/data"]);
    const { bin } = json<{ readonly bin: { readonly openrath: string } }>("package.json");
    expect(main).toBe(`/app/node_modules/openrath/${bin.openrath.slice(2)}`);
    expect(JSON.parse(instructions("ENTRYPOINT")[0] ?? "")).toEqual(["node", main]);
  });

  test("has a Node that the tests run on, and the drivers that the tests use", () => {
    const { dependencies } = json<{ readonly dependencies: Readonly<Record<string, string>> }>("test/nodes/package.json");
    const node = /^ARG NODE=([\d.]+)/m.exec(dockerfile)?.[1];
    expect(Object.values(dependencies)).toContain(`npm:node@${node}`);
    const { devDependencies } = json<{ readonly devDependencies: Readonly<Record<string, string>> }>("package.json");
    const drivers = json<{ readonly dependencies: Readonly<Record<string, string>> }>("deploy/package.json").dependencies;
    expect(Object.entries(drivers).filter(([name, version]) => devDependencies[name] !== version)).toEqual([]);
  });

  test("is healthy only while the server answers at the path that it has, on the port that is its default", async () => {
    const command = JSON.parse(/HEALTHCHECK [^[]*CMD (\[.*\])$/m.exec(dockerfile.replaceAll("\\\n", " "))?.[1] ?? "[]") as string[];
    expect([200, 503].map((status) => probed(command, status))).toEqual([0, 1]);
    expect(command[2]).toContain("http://127.0.0.1:7284/v1/health");
    expect(read("src/server/routes/health.ts")).toContain('"GET /v1/health"');
    const { out } = await call(never, ["serve", "--help"], { terminal: false });
    expect(out).toContain("default: 7284");
    expect(instructions("EXPOSE")).toEqual(["7284"]);
  });
});

describe("compose.yaml", () => {
  test("is valid by the schema of the Compose specification", () => {
    // Its own schema is named by an address that Ajv knows by another spelling.
    const { $schema: _, ...schema } = json<{ readonly $schema: string }>("node_modules/dclint/schemas/compose.schema.json");
    const check = new Ajv({ strict: false, validateFormats: false }).compile(schema);
    expect([check(compose), check.errors]).toEqual([true, null]);
    expect(check({ ...compose, services: { server: { image: 7 } } })).toBe(false);
  });

  test("has a server, workers and PostgreSQL, which wait for each other", () => {
    expect(Object.keys(compose.services).sort()).toEqual(["migrate", "postgres", "server", "worker"]);
    expect(ours).toHaveLength(3);
    for (const name of ["server", "worker"])
      expect(compose.services[name]?.depends_on).toEqual({
        migrate: { condition: "service_completed_successfully" },
        postgres: { condition: "service_healthy" },
      });
    expect(compose.services["migrate"]?.depends_on).toEqual({ postgres: { condition: "service_healthy" } });
  });

  test("writes to volumes and to memory alone, and has no password in it", () => {
    for (const [name, service] of Object.entries(compose.services)) {
      expect([name, service.read_only, service.tmpfs?.includes("/tmp")]).toEqual([name, true, true]);
      for (const volume of service.volumes ?? []) expect(Object.keys(compose.volumes)).toContain(volume.split(":")[0]);
      for (const secret of service.secrets ?? []) expect(Object.keys(compose.secrets)).toContain(secret);
      const open = Object.entries(service.environment ?? {}).filter(([variable]) => /PASSWORD|KEY|TOKEN/.test(variable));
      expect(open.filter(([variable, value]) => value !== null && !variable.endsWith("_FILE"))).toEqual([]);
    }
    for (const port of compose.services["server"]?.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  test.each(ours)("%s runs a command that exists, with options that it has", async (_, { command = [] }) => {
    const words = command.filter((word) => !word.startsWith("-"));
    const names = words[0] === "db" ? words.slice(0, 2) : words.slice(0, 1);
    const { exit, out } = await call(never, [...names, "--help"], { terminal: false });
    expect([exit, command.filter((word) => word.startsWith("--") && !out.includes(word))]).toEqual([0, []]);
  });

  test("asks the worker at the port and path where it says how it is", () => {
    const { command = [], healthcheck } = compose.services["worker"] ?? {};
    const port = command[command.indexOf("--health") + 1];
    const [, ...probe] = healthcheck?.test ?? [];
    expect(probe[2]).toContain(`http://127.0.0.1:${port}/health`);
    expect([200, 503].map((status) => probed(probe, status))).toEqual([0, 1]);
    expect(read("src/cli/health.ts")).toContain("/health");
  });

  test("sets only variables that the image's project, the command line or a model's provider reads", () => {
    const readers = [read("deploy/project/openrath.config.ts"), read("src/cli/commands/doctor.ts"), read("src/openrath.ts")].join();
    const names = [...new Set(ours.flatMap(([, { environment }]) => Object.keys(environment ?? {}))), "OPENRATH_HOME"];
    expect(names.filter((name) => !readers.includes(name))).toEqual([]);
  });
});

function never(): never {
  throw new Error("help opens no project");
}
