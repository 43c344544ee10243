/** Text in a page: what Markdown, Vue or a table would take for its own is written so that it is read as it stands. */
export function plain(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith("`") ? code(part.slice(1, -1)) : part.replace(/[<>|{}*_[\]]/g, (sign) => `&#${sign.charCodeAt(0)};`)))
    .join("");
}

export function code(text: string): string {
  return `<code v-pre>${text.replace(/[&<>|{}*_[\]`\\]/g, (sign) => `&#${sign.charCodeAt(0)};`)}</code>`;
}

/** A table, or nothing where it would have no rows. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "";
  return [heads, heads.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

/** Blocks with a blank line between them; empty ones are left out. */
export function blocks(...parts: readonly string[]): string {
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}
