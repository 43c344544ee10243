/** What stays in other systems and was named in the session. A page that loads nothing names it; it leads nowhere. */
import type { Event } from "../../session/event.ts";
import { brief, idOf, none, type Section, table } from "./blocks.ts";
import type { Dossier } from "./read.ts";
import { when } from "./story.ts";

export function linkSection({ events, counts, nameOf }: Dossier): Section {
  const linked = events.filter((event): event is Event<"record.linked"> & Event => event.kind === "record.linked");
  const said = ({ data }: Event<"record.linked">, field: "system" | "id" | "uri" | "digest"): string =>
    brief(data === undefined ? "[erased]" : (data[field] ?? ""), 300);
  const body =
    linked.length === 0
      ? none("No record of another system was named.")
      : table(
          linked,
          [
            { name: "Step", kind: "figure", cell: ({ step }) => step },
            { name: "System", cell: (event) => said(event, "system") },
            { name: "Record", kind: "wide", cell: (event) => said(event, "id") },
            { name: "Where", kind: "wide", cell: (event) => said(event, "uri") },
            { name: "Digest", cell: (event) => said(event, "digest") },
            { name: "Named by", cell: ({ by }) => brief(by, 80) },
            { name: "When", cell: ({ at }) => when(at) },
            { name: "On", cell: (event) => (counts(event) ? "the way to the result" : brief(nameOf(event.session), 80)) },
            { name: "Event", cell: ({ id }) => idOf(id) },
          ],
          "the record",
        );
  return { id: "links", title: "Records in other systems", body };
}
