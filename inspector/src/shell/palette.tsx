/** Find anything: an action that counts here, a screen, a session, a run, or something that waits. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { type ReactNode, useDeferredValue, useState } from "react";
import { type Client, RathError } from "../../../src/client/client.ts";
import { ago } from "../../../src/wire/format.ts";
import { pendingText } from "../../../src/wire/pending-line.ts";
import { useClient, useMay } from "../client.tsx";
import { StatusBadge } from "../parts/badge.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { currentKeys } from "./keys.ts";
import classes from "./palette.module.css";
import { setTheme, type Theme } from "./theme.ts";

interface Props {
  readonly close: () => void;
  readonly help: () => void;
}

export function Palette({ close, help }: Props) {
  const [text, setText] = useState("");
  const asked = useDeferredValue(text.trim());
  const { sessions, runs, pending } = useFindable(asked);
  const then: Then = (act) => () => {
    close();
    act();
  };
  return (
    <Dialog title="Find" close={close} top>
      <Command label="Find" className={classes["palette"]} filter={fit} loop>
        <Command.Input value={text} onValueChange={setText} placeholder="A session, a screen, a run or an action" />
        <Command.List className={classes["list"]}>
          <Command.Empty className="quiet">Nothing is called so.</Command.Empty>
          <ActionsHere help={help} then={then} />
          <SessionsFound sessions={sessions} then={then} />
          <WaitsFound pending={pending} then={then} />
          <RunsFound runs={runs} then={then} />
        </Command.List>
      </Command>
    </Dialog>
  );
}

/** What there is to go to. Sessions are looked for by the server; of runs and of what waits a page is here. */
function useFindable(asked: string) {
  const client = useClient();
  const mayRead = useMay("runs:read");
  const mayAnswer = useMay("pending:read");
  const { data: sessions = [] } = useQuery({
    queryKey: ["sessions", "named", asked],
    queryFn: ({ signal }) => sessionsNamed(client, asked, signal),
    placeholderData: keepPreviousData,
  });
  const { data: runs = [] } = useQuery({
    queryKey: ["runs", "found"],
    queryFn: async ({ signal }) => (await client.runs.list({ limit: 30, signal }).page()).items,
    enabled: mayRead,
  });
  const { data: pending = [] } = useQuery({
    queryKey: ["pending", "found"],
    queryFn: async ({ signal }) => (await client.pending.list({ to: "me", limit: 30, signal }).page()).items,
    enabled: mayAnswer,
  });
  return { sessions, runs, pending };
}

/** By a part of the title, or by the id or its beginning. */
async function sessionsNamed(client: Client, text: string, signal: AbortSignal) {
  const query = { ...(text === "" ? {} : { title: text.slice(0, 200) }), fields: "index" as const, limit: 20, signal };
  const { items } = await client.sessions.list(query).page();
  if (items.length > 0 || !/^[0-9a-f][0-9a-f-]{3,}$/i.test(text)) return items;
  return client.sessions.get(text, { signal }).then(
    (session) => [session],
    (error: unknown) => {
      if (RathError.is(error)) return [];
      throw error;
    },
  );
}

/** Every word is in it; what begins with them comes first. */
function fit(value: string, search: string): number {
  const words = search.toLowerCase().split(/\s+/);
  const text = value.toLowerCase();
  if (!words.every((word) => text.includes(word))) return 0;
  return 1 / (1 + Math.max(0, text.indexOf(words[0] ?? "")));
}

/** Makes of an action one that closes the palette first. */
type Then = (act: () => void) => () => void;

const themes: readonly Theme[] = ["light", "dark", "system"];
/** What the palette does itself need not be found in it. */
const own: ReadonlySet<string> = new Set(["Ctrl+k"]);

function ActionsHere({ help, then }: { readonly help: () => void; readonly then: Then }) {
  return (
    <Command.Group heading="Here">
      {currentKeys()
        .filter(({ keys }) => !own.has(keys))
        .map(({ keys, does, act }) => (
          <Found key={keys} value={`${does} key ${keys}`} select={keys === "?" ? then(help) : then(act)} side={<kbd>{keys}</kbd>}>
            {does}
          </Found>
        ))}
      {themes.map((theme) => (
        <Found key={theme} value={`theme ${theme}`} select={then(() => setTheme(theme))}>
          {theme === "system" ? "theme as the system has it" : `${theme} theme`}
        </Found>
      ))}
    </Command.Group>
  );
}

type Findable = ReturnType<typeof useFindable>;

function SessionsFound({ sessions, then }: Pick<Findable, "sessions"> & { readonly then: Then }) {
  const navigate = useNavigate();
  return (
    <Command.Group heading="Sessions">
      {sessions.map(({ id, title, changed }) => (
        <Found
          key={id}
          value={`session ${title ?? ""} ${id}`}
          select={then(() => void navigate({ to: "/s/$session", params: { session: id }, search: {} }))}
          side={<span className="quiet small">{changed === "" ? "" : ago(changed, new Date())}</span>}
        >
          {title ?? <code>{id}</code>}
        </Found>
      ))}
    </Command.Group>
  );
}

function WaitsFound({ pending, then }: Pick<Findable, "pending"> & { readonly then: Then }) {
  const navigate = useNavigate();
  return (
    <Command.Group heading="Waits for you">
      {pending.map((one) => (
        <Found
          key={one.id}
          value={`waits ${one.kind} ${pendingText(one as never).slice(0, 200)} ${one.id}`}
          select={then(() => void navigate({ to: "/approvals", search: { pending: one.id } }))}
          side={<StatusBadge status={one.kind} />}
        >
          {pendingText(one as never).slice(0, 120)}
        </Found>
      ))}
    </Command.Group>
  );
}

function RunsFound({ runs, then }: Pick<Findable, "runs"> & { readonly then: Then }) {
  const navigate = useNavigate();
  return (
    <Command.Group heading="Runs">
      {runs.map(({ id, workflow, status }) => (
        <Found
          key={id}
          value={`run ${workflow} ${status} ${id}`}
          select={then(() => void navigate({ to: "/runs", search: { run: id } }))}
          side={<StatusBadge status={status} />}
        >
          {workflow}
        </Found>
      ))}
    </Command.Group>
  );
}

interface FoundProps {
  readonly value: string;
  readonly select: () => void;
  readonly side?: ReactNode;
  readonly children: ReactNode;
}

function Found({ value, select, side, children }: FoundProps) {
  return (
    <Command.Item value={value} onSelect={select}>
      <span className="given clip">{children}</span> {side}
    </Command.Item>
  );
}
