/**
 * Pages of HTML. Whatever is put into a template is escaped and neutralised unless it is `Html` itself, so that nothing a model,
 * a tool or a file said can act on a page. A page is one file: no script, no request leaves it.
 */
import { neutral } from "../wire/neutral.ts";

/** Markup that is safe to put into a page. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  toString(): string {
    return this.text;
  }
}

/** What may be put into a template: text is escaped, nothing stays nothing. */
export type Htmlable = Html | string | number | undefined | false | readonly Htmlable[];

/**
 * Markup from a template: its own words stay, whatever is put into it is escaped.
 *
 * @example
 * html`<p title="${hostile}">${rows.map((row) => html`<b>${row}</b>`)}</p>`;
 */
export function html(words: TemplateStringsArray, ...values: readonly Htmlable[]): Html {
  return new Html(words.map((word, index) => (index < values.length ? word + textOf(values[index]) : word)).join(""));
}

function textOf(value: Htmlable): string {
  if (value instanceof Html) return value.text;
  if (value === undefined || value === false) return "";
  if (typeof value === "object") return value.map(textOf).join("");
  return neutral(String(value)).replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`);
}

/** One page, complete in itself. It may load nothing and run nothing. */
export function page({ title, style, body }: { readonly title: string; readonly style: string; readonly body: Html }): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
${body}
</body>
</html>
`.text;
}
