// The direction of dependencies, one rule per line of the layering. Tests (*.test.ts, *.test-d.ts) are exempt: they may name anything.
// An arrow points to what is known: session ← ports ← workflow ← agent ← runtime ← audit ← server ← cli, and session ← wire ← client.

const ports = "store|workspace|sandbox|tool|model|memory|access";

// An adapter is a sibling of its port. Files that begin with its name and a dash (sqlite-driver.ts) belong to it.
const adapters = [
  "store/(?:memory|sqlite|postgres)",
  "sandbox/(?:local|host|docker|e2b|opensandbox|cube|memory)",
  "model/(?:ai-sdk|scripted|recorded)",
  "memory/(?:volatile|sqlite|postgres|openviking)",
  "access/(?:volatile|sqlite|postgres)",
].join("|");
const adapterFile = `^src/(${adapters})[.-]`;

/** A rule: files at `from` know only the folders named in `known` (and what lies outside src). */
function knowsOnly(name, comment, from, known) {
  return { name, comment, severity: "error", from: { path: from }, to: { path: "^src/", pathNot: known } };
}

/** A rule of the chain: a layer knows itself, the layers named and everything below the workflow. */
function layer(name, comment, lower) {
  return knowsOnly(`${name}-knows-only-lower-layers`, comment, `^src/${name}/`, `^src/(?:session|${ports}|${lower})/`);
}

module.exports = {
  forbidden: [
    {
      name: "no-cycles",
      comment:
        "A cycle has no bottom: its files cannot be read, tested or moved alone. Type-only imports count, since they bind readers too.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    knowsOnly(
      "session-depends-on-nothing",
      "The value is what everything else is a function of. What its verbs need from the runtime is an interface in session/.",
      "^src/session/",
      "^src/session/",
    ),
    {
      name: "no-node-modules-in-browser-side",
      comment: "session/, wire/ and client/ also run in browsers. Hashing is injected, so no node: module is needed.",
      severity: "error",
      from: { path: "^src/(?:session|wire|client)/" },
      to: { dependencyTypes: ["core"] },
    },
    knowsOnly(
      "ports-know-only-session",
      "Ports do not know each other, so that any store works with any model, sandbox and memory.",
      "^src/(store|workspace|model|memory|access)/",
      ["^src/(?:session|$1)/", "^src/(?:sqlite|postgres)/"],
    ),
    knowsOnly(
      "sqlite-knows-only-session",
      "How a file is opened and held is the same whatever is kept in it, so it knows no table.",
      "^src/sqlite/",
      "^src/(?:session|sqlite)/",
    ),
    {
      name: "sqlite-is-for-sqlite-adapters",
      comment: "The seam to SQLite is not a port: what is kept in a file is asked of the store that owns the file.",
      severity: "error",
      from: { path: "^src/", pathNot: ["^src/sqlite/", "^src/(?:store|memory|access)/sqlite[.-]", "^src/store/migrations/"] },
      to: { path: "^src/sqlite/" },
    },
    knowsOnly(
      "postgres-knows-only-session",
      "How a database is reached and brought to its format is the same whatever is kept in it, so it knows no table.",
      "^src/postgres/",
      "^src/(?:session|postgres)/",
    ),
    {
      name: "postgres-is-for-postgres-adapters",
      comment: "The seam to PostgreSQL is not a port: what is kept in a database is asked of the store that owns the tables.",
      severity: "error",
      from: {
        path: "^src/",
        pathNot: ["^src/postgres/", "^src/(?:store|memory|access)/postgres[.-]", "^src/(?:store|memory)/migrations/postgres-"],
      },
      to: { path: "^src/postgres/" },
    },
    knowsOnly(
      "sandbox-knows-session-and-workspace",
      "A sandbox acts on files, so it may see workspace trees. It knows no other port.",
      "^src/sandbox/",
      "^src/(?:session|workspace|sandbox)/",
    ),
    knowsOnly(
      "tool-knows-session-and-the-sandbox-port",
      "A tool acts in a sandbox, through its port. Naming a backend would tie the tool to one placement.",
      "^src/tool/",
      ["^src/(?:session|tool)/", "^src/sandbox/sandbox[.]ts$"],
    ),
    {
      name: "adapters-never-import-adapters",
      comment: "Opening one store must not load another's code or driver. Shared code belongs to the port or to session/.",
      severity: "error",
      from: { path: adapterFile },
      to: { path: adapterFile, pathNot: "^src/$1[.-]" },
    },
    {
      name: "drivers-stay-in-their-adapter",
      comment:
        "Nobody pays for a driver they do not open: only src/sqlite imports a SQLite driver, only src/postgres and Postgres adapters one of Postgres.",
      severity: "error",
      from: { path: "^src/", pathNot: ["^src/(?:sqlite|postgres)/", "^src/(?:store|memory|access)/postgres[.-]"] },
      to: { path: "(?:^|/)(?:better-sqlite3|node:sqlite|sqlite|pg|pg-boss)(?:/|$)", pathNot: "^src/" },
    },
    {
      name: "only-the-composition-root-names-adapters",
      comment: "Above the ports code sees interfaces. src/openrath.ts turns options into adapters; cli/ and testing/ may name them too.",
      severity: "error",
      from: { path: "^src/", pathNot: [`^src/(?:${ports}|cli|testing)/`, "^src/(?:openrath|index)[.]ts$"] },
      to: { path: adapterFile },
    },
    {
      name: "root-door-opens-no-adapter",
      comment: "Importing the package must not load an adapter. The two models without a driver, scripted and recorded, are the exception.",
      severity: "error",
      from: { path: "^src/index[.]ts$" },
      to: { path: adapterFile, pathNot: "^src/model/(?:scripted|recorded)[.]ts$" },
    },
    layer("workflow", "An Agent is a Workflow, so composition lies below agents and knows neither them nor the runtime.", "workflow"),
    layer("agent", "An agent maps a session to a longer one. Who drives it is the runtime's business.", "workflow|agent"),
    layer(
      "runtime",
      "The runtime drives agents and workflows. Erase and gc live here; asking about the past is audit's job.",
      "workflow|agent|runtime",
    ),
    layer(
      "audit",
      "Audit may use replay, and serves the server and the CLI without knowing them. Its words and lanes are those that browsers show.",
      "workflow|agent|runtime|wire|audit",
    ),
    layer(
      "server",
      "The server answers in wire's shapes over everything below. The CLI starts it, never the reverse.",
      "workflow|agent|runtime|audit|wire|server",
    ),
    {
      name: "cli-is-imported-by-nobody",
      comment: "The command line is the top: what others need from it belongs in a lower layer.",
      severity: "error",
      from: { path: "^src/(?!cli/)" },
      to: { path: "^src/cli/" },
    },
    {
      name: "composition-root-is-below-server-and-cli",
      comment: "src/openrath.ts makes a Rath; the server and the CLI are given one or make one through it.",
      severity: "error",
      from: { path: "^src/openrath[.]ts$" },
      to: { path: "^src/(?:server|client|wire|cli)/" },
    },
    {
      name: "root-door-is-imported-by-nobody",
      comment: "src/index.ts only re-exports. Inside, import the file that owns the thing.",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^src/index[.]ts$" },
    },
    knowsOnly(
      "wire-knows-only-session",
      "Request and response shapes are shared with browsers, so they never see runtime, server or store.",
      "^src/wire/",
      "^src/(?:session|wire)/",
    ),
    knowsOnly(
      "client-knows-only-wire",
      "The client speaks to a server over wire's shapes. Importing runtime, server or store would pull Node into browsers.",
      "^src/client/",
      "^src/(?:session|wire|client)/",
    ),
    {
      name: "inspector-talks-through-the-client",
      comment: "The web interface has no way round the server: what it shows, every client can ask for. Words and lanes are those of wire.",
      severity: "error",
      from: { path: "^inspector/" },
      to: { path: "^src/", pathNot: "^src/(?:client|wire)/" },
    },
    {
      name: "testing-is-imported-by-nobody",
      comment: "Conformance suites, fake clocks and scripted doubles are for tests; product code that needs them is not finished.",
      severity: "error",
      from: { path: "^src/(?!testing/)" },
      to: { path: "^src/testing/" },
    },
    {
      name: "testing-stays-below-the-cli",
      comment: "Suites test ports, runtime and server. The CLI is tested as a process.",
      severity: "error",
      from: { path: "^src/testing/" },
      to: { path: "^src/cli/" },
    },
    {
      name: "published-code-uses-published-dependencies",
      comment: "A development dependency, or one that package.json does not list, is missing on the user's machine.",
      severity: "error",
      from: { path: "^src/" },
      to: {
        dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown", "unknown"],
        dependencyTypesNot: ["type-only", "npm-peer", "npm-optional"],
        pathNot: "^(?:[.]|node:sqlite$)",
      },
    },
    {
      name: "no-unresolvable-imports",
      comment:
        "A specifier that resolves to nothing fails only when the line runs. node:sqlite is missing on Node 20 and is asked for with care.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true, pathNot: "^node:sqlite$" },
    },
    {
      name: "no-drawer-files",
      comment: "types.ts, utils.ts and their kin collect what has no owner. A thing lives with the verb that uses it.",
      severity: "error",
      from: {},
      to: { path: "/(?:types|utils|helpers|constants|common|misc|base)[.]ts$", pathNot: "node_modules" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "[.]test(?:-d)?[.]ts$" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "types", "default"] },
  },
};
