/** Replies as they are written: what came of them so far, by branch, until they are on record. Told at most once a frame. */
import { useEffect, useState } from "react";
import { useClient } from "../../client.tsx";
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

/** Whoever wrote may be gone without a word: after so long a silence the run is asked about. */
const silentMs = 5000;

interface Reply extends Writing {
  readonly run: string | undefined;
  readonly at: number;
}

export function useWritten(live: LiveLineage): Written {
  const { runs } = useClient();
  const [version, setVersion] = useState(0);
  const [replies] = useState(() => new Map<string, Reply>());
  useEffect(() => {
    let frame: number | undefined;
    const called = new Map<string, string>();
    const tell = (): void => {
      frame ??= requestAnimationFrame(() => {
        frame = undefined;
        setVersion((before) => before + 1);
      });
    };
    const stopWatching = live.watch((part) => {
      if (part.type === "event") {
        const { id, kind, session, parents } = part.event;
        // What follows the newest call of its branch comes after the reply. The call itself may come later than the first words.
        if (kind === "model.called") called.set(session, id);
        else if ((kind === "model.returned" || parents.includes(called.get(session) ?? "")) && replies.delete(session)) tell();
      }
      if (part.type !== "text-delta" && part.type !== "reasoning-delta") return;
      const known = replies.get(part.session);
      const fresh = known === undefined || (part.type === "text-delta" && part.restart === true);
      const { text, reasoning } = fresh ? { text: "", reasoning: "" } : known;
      const grown = part.type === "text-delta" ? { text: text + part.text, reasoning } : { text, reasoning: reasoning + part.text };
      const [shown, thought] = [grown.text.slice(-most), grown.reasoning.slice(-most)];
      replies.set(part.session, { text: shown, reasoning: thought, run: part.run, at: Date.now() });
      tell();
    });
    // What is not on record is not told again: whoever comes back sees what is written from then on.
    const stopListening = live.subscribe(() => {
      if (live.connection === "live" || replies.size === 0) return;
      replies.clear();
      tell();
    });
    const forget = (branch: string, reply: Reply): void => {
      if (replies.get(branch) === reply && replies.delete(branch)) tell();
    };
    const look = setInterval(() => {
      for (const [branch, reply] of replies) {
        if (Date.now() - reply.at < silentMs || reply.run === undefined) continue;
        runs.get(reply.run).then(
          ({ status, owner }) => {
            if (status !== "running" || owner === undefined) forget(branch, reply);
          },
          () => {}, // asked again the next time
        );
      }
    }, silentMs);
    return () => {
      clearInterval(look);
      stopListening();
      stopWatching();
      if (frame !== undefined) cancelAnimationFrame(frame);
    };
  }, [live, runs, replies]);
  return { textOf: (branch) => replies.get(branch), version };
}
