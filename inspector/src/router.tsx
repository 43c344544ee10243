/** Which address shows which screen. Addresses lie behind the hash: the server need not know them, wherever it is mounted. */
import { createHashHistory, createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { Empty } from "./parts/empty.tsx";
import { part } from "./parts/missing-part.ts";
import { SessionFrame } from "./session/session-frame.tsx";
import { ScreenFailure } from "./shell/screen-failure.tsx";
import { Shell } from "./shell/shell.tsx";

/** What addresses say behind the question mark: texts alone. */
export type Search = Readonly<Record<string, string | undefined>>;

const root = createRootRoute({
  component: Shell,
  validateSearch: (given: Record<string, unknown>): Search =>
    Object.fromEntries(Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))),
  notFoundComponent: () => (
    <Empty title="There is no such screen">
      <a href="#/sessions">To the sessions</a>
    </Empty>
  ),
});

const start = createRoute({
  getParentRoute: () => root,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/sessions", search: {} });
  },
});
const sessions = createRoute({
  getParentRoute: () => root,
  path: "/sessions",
  component: lazyRouteComponent(
    part(() => import("./screens/sessions/sessions-screen.tsx")),
    "SessionsScreen",
  ),
});
const approvals = createRoute({
  getParentRoute: () => root,
  path: "/approvals",
  component: lazyRouteComponent(
    part(() => import("./screens/approvals/approvals-screen.tsx")),
    "ApprovalsScreen",
  ),
});
const runs = createRoute({
  getParentRoute: () => root,
  path: "/runs",
  component: lazyRouteComponent(
    part(() => import("./screens/runs/runs-screen.tsx")),
    "RunsScreen",
  ),
});
const memory = createRoute({
  getParentRoute: () => root,
  path: "/memory",
  component: lazyRouteComponent(
    part(() => import("./screens/memory/memory-screen.tsx")),
    "MemoryScreen",
  ),
});
const diff = createRoute({
  getParentRoute: () => root,
  path: "/diff",
  component: lazyRouteComponent(
    part(() => import("./screens/diff/diff-screen.tsx")),
    "DiffScreen",
  ),
});

const session = createRoute({ getParentRoute: () => root, path: "/s/$session", component: SessionFrame });
const first = createRoute({
  getParentRoute: () => session,
  path: "/",
  beforeLoad: ({ params, search }) => {
    throw redirect({ to: "/s/$session/graph", params, search });
  },
});
const graph = createRoute({
  getParentRoute: () => session,
  path: "graph",
  component: lazyRouteComponent(
    part(() => import("./screens/graph/graph-screen.tsx")),
    "GraphScreen",
  ),
});
const transcript = createRoute({
  getParentRoute: () => session,
  path: "transcript",
  component: lazyRouteComponent(
    part(() => import("./screens/transcript/transcript-screen.tsx")),
    "TranscriptScreen",
  ),
});
const timeline = createRoute({
  getParentRoute: () => session,
  path: "timeline",
  component: lazyRouteComponent(
    part(() => import("./screens/timeline/timeline-screen.tsx")),
    "TimelineScreen",
  ),
});
const scrubber = createRoute({
  getParentRoute: () => session,
  path: "scrubber",
  component: lazyRouteComponent(
    part(() => import("./screens/scrubber/scrubber-screen.tsx")),
    "ScrubberScreen",
  ),
});
const call = createRoute({
  getParentRoute: () => session,
  path: "call",
  component: lazyRouteComponent(
    part(() => import("./screens/call/call-screen.tsx")),
    "CallScreen",
  ),
});
const files = createRoute({
  getParentRoute: () => session,
  path: "files",
  component: lazyRouteComponent(
    part(() => import("./screens/files/files-screen.tsx")),
    "FilesScreen",
  ),
});
const verify = createRoute({
  getParentRoute: () => session,
  path: "verify",
  component: lazyRouteComponent(
    part(() => import("./screens/verify/verify-screen.tsx")),
    "VerifyScreen",
  ),
});
const raw = createRoute({
  getParentRoute: () => session,
  path: "raw",
  component: lazyRouteComponent(
    part(() => import("./screens/raw/raw-screen.tsx")),
    "RawScreen",
  ),
});

export const router = createRouter({
  routeTree: root.addChildren([
    ...[start, sessions, approvals, runs, memory, diff],
    session.addChildren([first, graph, transcript, timeline, scrubber, call, files, verify, raw]),
  ]),
  history: createHashHistory(),
  // Texts stay texts: the usual way reads "12" as a number and writes it back with quotes.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const given = Object.entries(search).flatMap(([name, value]) => (value === undefined || value === "" ? [] : [[name, String(value)]]));
    return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
  },
  // Drawn in the place of the screen: the way to the others stays.
  defaultErrorComponent: ScreenFailure,
  scrollRestoration: false,
});

declare module "@tanstack/react-router" {
  interface Register {
    readonly router: typeof router;
  }
}
