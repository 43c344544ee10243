/** The way to an event in its session. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { shortEvent } from "../../../src/wire/format.ts";

interface Props {
  readonly session: string;
  readonly event: string;
  /** The screen that shows it; the graph when left out. */
  readonly screen?: "graph" | "raw" | "call" | "transcript" | undefined;
  /** What is shown; the beginning of its id when left out. */
  readonly children?: ReactNode;
}

export function EventLink({ session, event, screen = "graph", children }: Props) {
  return (
    <Link to={`/s/$session/${screen}`} params={{ session }} search={{ at: event }} title={event}>
      {children ?? <code>{shortEvent(event)}</code>}
    </Link>
  );
}
