/** What one event says, as people read it. Whatever has no words of its own is shown as it is on record. */
import type { EventResource } from "../../../../../src/client/client.ts";
import { neutralJson } from "../../../../../src/wire/neutral.ts";
import { useEvent } from "../../../lineage/use-event.ts";
import { StatusBadge } from "../../../parts/badge.tsx";
import { Failure } from "../../../parts/failure.tsx";
import { GivenText } from "../../../parts/given-text.tsx";
import { kindWords } from "../row-look.ts";
import { Decision } from "./decision.tsx";
import classes from "./details.module.css";
import { MemoryHits } from "./memory-hits.tsx";
import { type SaidPart, SaidParts } from "./said-parts.tsx";

interface Props {
  readonly id: string;
  readonly kind: string;
  /** Somebody decides about something in its row, or did. */
  readonly decided: boolean;
}

export function EventContent({ id, kind, decided }: Props) {
  const { data: event, error, refetch } = useEvent(id);
  const outcome = event?.facts.outcome;
  return (
    <section className={classes["event"]} aria-label={kindWords(kind)}>
      <h3>
        <span>{titleOf(kind, event)}</span>
        {outcome !== undefined && outcome !== "ok" && <StatusBadge status={outcome} />}
      </h3>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {event !== undefined && event.data === undefined && <p className="quiet">What it said was erased.</p>}
      {event?.data !== undefined && <EventData event={event} data={event.data as Data} />}
      {decided && /^(tool|do|ask|receive|wait)\.called$/.test(kind) && <Decision id={id} />}
    </section>
  );
}

/** What events may say; each kind has some of it. */
interface Data {
  readonly name?: string;
  readonly tool?: string;
  readonly model?: string;
  readonly question?: string;
  readonly signal?: unknown;
  readonly text?: string;
  readonly stop?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly input?: unknown;
  readonly value?: unknown;
  readonly parts?: readonly SaidPart[];
  readonly passed?: boolean;
  readonly score?: number;
  readonly content?: unknown;
  readonly key?: string;
  readonly acted?: { readonly changes: readonly { readonly path: string; readonly kind: string }[]; readonly discarded?: true };
}

function titleOf(kind: string, event: EventResource | undefined): string {
  const { name, model, question, key } = (event?.data ?? {}) as Data;
  const what = name ?? model ?? question ?? key;
  return what === undefined || typeof what !== "string" ? kindWords(kind) : `${kindWords(kind)}: ${what.slice(0, 200)}`;
}

function EventData({ event, data }: { readonly event: EventResource; readonly data: Data }) {
  switch (event.kind) {
    case "message.added":
      return <SaidParts parts={data.parts ?? []} />;
    case "model.called":
      return null;
    case "model.returned":
      return (
        <>
          <SaidParts parts={data.parts ?? []} />
          <Said text={data.message ?? data.reason} />
        </>
      );
    case "agent.stopped":
      return <Said text={[data.stop, data.reason].filter((text) => text !== undefined && text !== "").join(": ")} />;
    case "note.added":
      return <Said text={data.text} />;
    case "session.merged":
    case "session.rejected":
      return data.reason === undefined ? <Value value={data} /> : <Said text={data.reason} />;
    case "recall.returned":
      return Array.isArray(data.value) ? <MemoryHits hits={data.value} /> : <Said text={data.message ?? data.reason} />;
    case "remember.called":
      return <Value value={data.content} />;
    case "check.returned":
      return (
        <>
          {data.passed !== undefined && (
            <p>
              <StatusBadge status={data.passed ? "ok" : "failed"} /> {data.passed ? "passed" : "failed"}
              {data.score !== undefined && ` with ${data.score}`}
            </p>
          )}
          <Said text={data.reason ?? data.message} />
        </>
      );
    default:
  }
  if (event.kind.endsWith(".called")) return data.input === undefined ? <Rest data={data} /> : <Value value={data.input} />;
  if (event.kind.endsWith(".returned")) return <Result data={data} />;
  return <Rest data={data} />;
}

function Result({ data }: { readonly data: Data }) {
  const { value, message, reason, acted } = data;
  return (
    <>
      {value !== undefined && <Value value={value} />}
      <Said text={message ?? reason} />
      {acted !== undefined && acted.changes.length > 0 && (
        <ul className={classes["changes"]}>
          {acted.changes.slice(0, 20).map(({ path, kind }) => (
            <li key={path}>
              <span className="quiet">{acted.discarded === true ? `${kind}, not kept` : kind}</span>{" "}
              <code className="given">{path.slice(0, 300)}</code>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Rest({ data }: { readonly data: Data }) {
  const { name: _, ...rest } = data;
  return Object.keys(rest).length === 0 ? null : <Value value={rest} />;
}

function Said({ text }: { readonly text: string | undefined }) {
  return text === undefined || text === "" ? null : <GivenText text={text} />;
}

function Value({ value }: { readonly value: unknown }) {
  if (value === undefined) return null;
  return typeof value === "string" ? <GivenText text={value} /> : <GivenText text={neutralJson(value, 2)} mono />;
}
