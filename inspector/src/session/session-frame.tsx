/** What is around every screen of one session: which it is, how it stands, and the ways of looking at it. */
import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useLocation, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef } from "react";
import type { SessionResource } from "../../../src/client/client.ts";
import { count, money, plural } from "../../../src/wire/format.ts";
import { neutral } from "../../../src/wire/neutral.ts";
import { ActionsProvider, useAct } from "../actions/actions.tsx";
import { useClient, useMay } from "../client.tsx";
import { LiveSign } from "../desk/live-sign.tsx";
import { statusOf } from "../desk/status-of.ts";
import { useAgain } from "../desk/use-seldom.ts";
import { useStanding } from "../desk/use-standing.ts";
import { LineageProvider, useLineage } from "../lineage/use-lineage.tsx";
import { StatusBadge } from "../parts/badge.tsx";
import { CopyButton } from "../parts/copy-button.tsx";
import { part } from "../parts/missing-part.ts";
import { shortId } from "../parts/short-id.ts";
import { useKeys } from "../shell/keys.ts";
import { OpenCallsProvider } from "./open-calls.tsx";
import classes from "./session-frame.module.css";
import { useFreshBranches } from "./use-branches.ts";
import { type SessionName, useName } from "./use-name.ts";

const VerifyScreen = lazy(part(async () => ({ default: (await import("../screens/verify/verify-screen.tsx")).VerifyScreen })));

/** The screens of a session, in the order of their keys. */
const tabs = [
  ["graph", "Graph", "g"],
  ["transcript", "Transcript", "t"],
  ["timeline", "Timeline", "i"],
  ["scrubber", "Scrubber", "s"],
  ["call", "Model call", "o"],
  ["files", "Files", "e"],
  ["verify", "Verify", "v"],
  ["raw", "Raw", "w"],
] as const;

export function SessionFrame() {
  const { session } = useParams({ from: "/s/$session" });
  return (
    <LineageProvider session={session} key={session} damaged={<Damaged />}>
      <ActionsProvider>
        <OpenCallsProvider>
          <div className={classes["frame"]}>
            <SessionHeader session={session} />
            <div className={classes["screen"]}>
              <Outlet />
            </div>
          </div>
        </OpenCallsProvider>
      </ActionsProvider>
    </LineageProvider>
  );
}

/** A record that cannot be read any more is verified all the same: that says where it is damaged. */
function Damaged() {
  return (
    <Suspense>
      <VerifyScreen />
    </Suspense>
  );
}

function SessionHeader({ session }: { readonly session: string }) {
  const { connection } = useLineage();
  const { data, status } = useSession(session);
  useFreshBranches();
  const name = useName(session, data);
  const branch = useLookedBranch(session);
  const act = useAct();
  const mayWrite = useMay("sessions:write");
  const speak = mayWrite ? () => act({ verb: "say", place: { session: branch } }) : undefined;
  useEffect(() => {
    document.title = `${neutral(name.text.slice(0, 200))} · OpenRath`;
  }, [name.text]);
  useHeaderKeys(session, speak);
  return (
    <header className={classes["header"]}>
      <div className={classes["about"]}>
        <h1 className="given clip">{neutral(name.text.slice(0, 300))}</h1>
        {name.root !== undefined && <Root root={name.root} />}
        <code className="quiet">{shortId(session)}</code>
        <CopyButton text={session} what="the id" />
        {status !== undefined && <StatusBadge status={status} />}
        <Figures data={data} />
        <LiveSign connection={connection} />
        <Verbs session={session} branch={branch} speak={speak} />
      </div>
      <Tabs session={session} />
    </header>
  );
}

/** The session and how it stands. */
function useSession(session: string) {
  const { sessions } = useClient();
  const { version } = useLineage();
  const { data, refetch } = useQuery({ queryKey: ["session", session], queryFn: ({ signal }) => sessions.get(session, { signal }) });
  // It went on: how it stands and what it cost is asked again, not more often than somebody can read.
  const standing = useStanding(session);
  const again = (): void => {
    void refetch({ cancelRefetch: false });
    standing.reread();
  };
  useAgain(version, again, 500);
  return { data, status: data === undefined ? undefined : (statusOf(data, standing) ?? data.status) };
}

/** The branch that is looked at: what is said goes there. */
function useLookedBranch(session: string): string {
  const { lineage } = useLineage();
  const { branch }: { readonly branch?: string } = useSearch({ strict: false });
  return branch !== undefined && lineage.hasBranch(branch) ? branch : session;
}

/** Undefined: whoever looks may not. */
type Speak = (() => void) | undefined;

function useHeaderKeys(session: string, speak: Speak): void {
  const navigate = useNavigate();
  useKeys([
    ...tabs.map(([to, name, keys]) => ({
      keys,
      does: name.toLowerCase(),
      act: () => void navigate({ to: `/s/$session/${to}`, params: { session }, search: (kept) => kept }),
    })),
    ...(speak === undefined ? [] : [{ keys: "y", does: "say something", act: speak }]),
  ]);
}

function Root({ root: { id, relation, title } }: { readonly root: NonNullable<SessionName["root"]> }) {
  return (
    <span className={`${classes["root"]} quiet small clip`}>
      {relation}{" "}
      <Link to="/s/$session/graph" params={{ session: id }} search={{}} className="given">
        {neutral(title.slice(0, 120))}
      </Link>
    </span>
  );
}

function Figures({ data }: { readonly data: SessionResource | undefined }) {
  const { lineage } = useLineage();
  return (
    <span className="quiet small number">
      {count(lineage.count)} events · {count(lineage.sessions.length)} {lineage.sessions.length === 1 ? "branch" : "branches"}
      {data !== undefined && (
        <span title="Of this session and all that it continues or took over; the timeline tells what all branches cost">
          {` · ${plural(data.usage.input + data.usage.output, "token")} · ${money(data.usage.usd)} behind it`}
        </span>
      )}
    </span>
  );
}

interface VerbsProps {
  readonly session: string;
  readonly branch: string;
  readonly speak: Speak;
}

function Verbs({ session, branch, speak }: VerbsProps) {
  const act = useAct();
  return (
    <span className={classes["verbs"]}>
      {speak !== undefined && (
        <button type="button" onClick={speak} title={branch === session ? undefined : `To the branch ${shortId(branch)}`}>
          Say…
        </button>
      )}
      <button type="button" onClick={() => act({ verb: "export", place: { session } })}>
        Export…
      </button>
      <button type="button" onClick={() => act({ verb: "dossier", place: { session } })}>
        Dossier…
      </button>
    </span>
  );
}

function Tabs({ session }: { readonly session: string }) {
  const nav = useRef<HTMLElement>(null);
  const screen = useLocation({ select: ({ pathname }) => pathname });
  // Where there is little room, the one that is looked at may lie beside the window.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is another link when the screen changes
  useEffect(() => {
    nav.current?.querySelector('[aria-current="page"]')?.scrollIntoView({ inline: "nearest", block: "nearest" });
  }, [screen]);
  return (
    <nav ref={nav} aria-label="Ways of looking at the session" className={classes["tabs"]}>
      {tabs.map(([to, name]) => (
        <Link key={to} to={`/s/$session/${to}`} params={{ session }} search={(kept) => kept}>
          {name}
        </Link>
      ))}
    </nav>
  );
}
