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

const themes: readonly Theme[] = ["light", "dark", "system"];
/** What the palette does itself need not be found in it. */
const own: ReadonlySet<string> = new Set(["Ctrl+k"]);

export function Palette({ close, help }: Props) {
  const navigate = useNavigate();
  const client = useClient();
  const [text, setText] = useState("");
  const asked = useDeferredValue(text.trim());
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
  const then = (act: () => void) => (): void => {
    close();
    act();
  };
  return (
    <Dialog title="Find" close={close} top>
      <Command label="Find" className={classes["palette"]} filter={fit} loop>
        <Command.Input value={text} onValueChange={setText} placeholder="A session, a screen, a run or an action" />
        <Command.List className={classes["list"]}>
          <Command.Empty className="quiet">Nothing is called so.</Command.Empty>
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
        </Command.List>
      </Command>
    </Dialog>
  );
}

/** Every word is in it; what begins with them comes first. */
function fit(value: string, search: string): number {
  const words = search.toLowerCase().split(/\s+/);
  const text = value.toLowerCase();
  if (!words.every((word) => text.includes(word))) return 0;
  return 1 / (1 + Math.max(0, text.indexOf(words[0] ?? "")));
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
