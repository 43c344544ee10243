/** What a terminal shows, as a page: the colours that commands print, in a window that belongs to no system. */

const palettes = {
  light: { ground: "#fbfbfa", bar: "#ecedef", line: "#d4d6da", text: "#1a1d24", quiet: "#6b7180" },
  dark: { ground: "#14171e", bar: "#1e222c", line: "#323846", text: "#e6e8ee", quiet: "#8f97a8" },
} as const;
const inks: Readonly<Record<"light" | "dark", Readonly<Record<number, string>>>> = {
  light: { 31: "#b3212c", 32: "#0f7042", 33: "#8a5200", 34: "#1f51d6", 35: "#8a3ab0", 36: "#0b6a83" },
  dark: { 31: "#ff8f8f", 32: "#6fd7a0", 33: "#f2b661", 34: "#8cacff", 35: "#d09bf0", 36: "#79c7e8" },
};

export function terminalPage(text: string, title: string, theme: "light" | "dark"): string {
  const { ground, bar, line, text: ink, quiet } = palettes[theme];
  const dots = '<span class="dot"></span>'.repeat(3);
  return `<!doctype html><meta charset="utf-8"><style>
    body { margin: 0; display: inline-block; background: ${ground}; }
    .window { color: ${ink}; font: 15px/1.18 "DejaVu Sans Mono", monospace; }
    .bar { display: flex; gap: 7px; align-items: center; padding: 9px 14px; background: ${bar}; border-bottom: 1px solid ${line}; }
    .bar b { flex: 1; text-align: center; font: 12px "DejaVu Sans", sans-serif; color: ${quiet}; margin-right: 48px; }
    .dot { width: 10px; height: 10px; border-radius: 5px; background: ${line}; }
    pre { margin: 0; padding: 14px 22px 18px 18px; font: inherit; white-space: pre; }
    .dim { color: ${quiet}; } .bold { font-weight: bold; }
  </style><div class="window"><div class="bar">${dots}<b>${escaped(title)}</b></div><pre>${painted(text, theme)}</pre></div>`;
}

function painted(text: string, theme: "light" | "dark"): string {
  let [open, html] = [0, ""];
  for (const [index, part] of text.split("\u001b[").entries()) {
    const [, codes, rest] = (index === 0 ? undefined : /^([\d;]*)m(.*)$/s.exec(part)) ?? ["", "", part];
    for (const code of codes === "" ? [] : (codes ?? "").split(";").map(Number)) {
      // A code either begins a style or ends one: those of this command line never overlap.
      const colour = inks[theme][code];
      const style = colour !== undefined ? `style="color:${colour}"` : code === 1 ? 'class="bold"' : code === 2 ? 'class="dim"' : undefined;
      if (style !== undefined) {
        html += `<span ${style}>`;
        open++;
      } else if (open > 0) {
        html += "</span>";
        open--;
      }
    }
    html += escaped(rest ?? "");
  }
  return html + "</span>".repeat(open);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
