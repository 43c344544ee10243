/** Replies as they are written: what came of them so far, by branch, until they are on record. Told at most once a frame. */
import { useEffect, useState } from "react";
import type { LiveLineage } from "../../lineage/live-lineage.ts";

export interface Writing {
  readonly text: string;
  readonly reasoning: string;
}

export interface Written {
  readonly textOf: (branch: string) => Writing | undefined;
  readonly version: number;
}

/** Of a reply that goes on for long the end is enough to see it grow. */
const most = 50_000;

export function useWritten(live: LiveLineage): Written {
  const [version, setVersion] = useState(0);
  const [replies] = useState(() => new Map<string, Writing>());
  useEffect(() => {
    let frame: number | undefined;
    const tell = (): void => {
      frame ??= requestAnimationFrame(() => {
        frame = undefined;
        setVersion((before) => before + 1);
      });
    };
    const stopWatching = live.watch((part) => {
      if (part.type === "event" && part.event.kind === "model.returned" && replies.delete(part.event.session)) tell();
      if (part.type !== "text-delta" && part.type !== "reasoning-delta") return;
      const known = replies.get(part.session);
      const fresh = known === undefined || (part.type === "text-delta" && part.restart === true);
      const { text, reasoning } = fresh ? { text: "", reasoning: "" } : known;
      const grown = part.type === "text-delta" ? { text: text + part.text, reasoning } : { text, reasoning: reasoning + part.text };
      replies.set(part.session, { text: grown.text.slice(-most), reasoning: grown.reasoning.slice(-most) });
      tell();
    });
    return () => {
      stopWatching();
      if (frame !== undefined) cancelAnimationFrame(frame);
    };
  }, [live, replies]);
  return { textOf: (branch) => replies.get(branch), version };
}
