/** Secrets do not enter the log: declared ones and well-known key shapes are replaced before anything is hashed or handed over. */
import { RathError } from "../session/errors.ts";
import type { Redact } from "../session/json.ts";

const marker = "[redacted]";

/** Keys whose shape alone gives them away, by what they are. */
const shapes: Readonly<Record<string, string>> = {
  "key of a model provider": "sk-(?:ant-|proj-|svcacct-|or-)?[A-Za-z0-9_-]{20,}", // OpenAI, Anthropic, OpenRouter
  "GitHub token": "(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
  "GitLab token": "glpat-[A-Za-z0-9_-]{20,}",
  "AWS key": "(?:AKIA|ASIA)[A-Z0-9]{16}",
  "Google key": "AIza[A-Za-z0-9_-]{35}",
  "Slack token": "xox[abeprs]-[A-Za-z0-9-]{10,}",
  "Stripe key": "(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}",
  "npm token": "npm_[A-Za-z0-9]{36}",
  "Hugging Face token": "hf_[A-Za-z0-9]{34,}",
  "OpenRath key": "rath_[a-z2-7]{10}_[A-Za-z0-9_-]{43}",
  // A header ends where another one may begin, so that each character is looked at once.
  "JSON web token": "eyJ(?:(?!-eyJ)[A-Za-z0-9_-]){10,}\\.eyJ[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]{10,}",
};
const privateKey = "-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----[\\s\\S]*?(?:-----END (?:[A-Z]+ )*PRIVATE KEY-----|$)";

/** No shape is without one of these, and most text is: looking for them first is ten times as fast. */
const telltale = /[-_]|AKIA|ASIA|AIza|eyJ/;

/** Shorter secrets would be found inside ordinary words. */
const shortest = 6;
/** Short strings are mostly names that come again and again; they are looked at once. */
const shortText = 32;
const remembered = 2000;

export function redactor(secrets: readonly string[] = []): Redact {
  const declared = [...new Set(secrets)].sort((a, b) => b.length - a.length);
  if (declared.some((secret) => secret.length < shortest)) {
    throw new RathError(
      "value.unsupported",
      `A declared secret has fewer than ${shortest} characters and would be found inside ordinary words: leave it out of values instead.`,
    );
  }
  const literals = declared.flatMap(textsOf).map(escapeRegExp);
  const pattern = new RegExp([...new Set(literals), `\\b(?:${Object.values(shapes).join("|")})`, privateKey].join("|"), "g");
  const isSuspicious = literals.length === 0 ? telltale : new RegExp([...new Set(literals), telltale.source].join("|"));
  const clean = new Set<string>();
  const redact: Redact = (text) => {
    if (text.length < shortest || (text.length <= shortText && clean.has(text))) return undefined;
    let count = 0;
    const redacted = isSuspicious.test(text)
      ? text.replace(pattern, () => {
          count++;
          return marker;
        })
      : text;
    if (count > 0) return { text: redacted, count };
    if (text.length <= shortText) {
      if (clean.size >= remembered) clean.clear();
      clean.add(text);
    }
    return undefined;
  };
  const anywhere = [...declared.flatMap(textsOf), "-----BEGIN "];
  redact.unfinished = (text) => unfinishedIn(text, anywhere, pattern);
  redact.secretsIn = (text) =>
    text.length < shortest || !isSuspicious.test(text)
      ? []
      : [...text.matchAll(pattern)].map(({ 0: found, index }) => ({ ...kindOf(found, declared), at: index, length: found.length }));
  return redact;
}

/** What a text is that was found; nothing of a declared secret, and of another only how all of its kind begin. */
function kindOf(found: string, declared: readonly string[]): { readonly kind: string; readonly begins: string } {
  for (const secret of declared)
    for (const [form, text] of formsOf(secret))
      if (text === found) return { kind: `declared secret of ${secret.length} characters${form}`, begins: "" };
  for (const [kind, shape] of Object.entries(shapes))
    if (new RegExp(`^(?:${shape})$`).test(found)) return { kind, begins: /^(?:[a-z]{2,6}[-_]|[A-Za-z]{3,4})/.exec(found)?.[0] ?? "" };
  return { kind: "private key", begins: "-----BEGIN" };
}

/** How shapes begin, where a word does. */
const starts = "sk- sk_ rk_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- AKIA ASIA AIza xox npm_ hf_ rath_ eyJ".split(" ");
const begun = /\b(?:[sr]k[-_]|gh[pousr]_|github_pat_|glpat-|AKIA|ASIA|AIza|xox[abeprs]-|npm_|hf_|rath_|eyJ)/;
const partOfShape = /[A-Za-z0-9_.-]/;
/** What has not become a secret by then is none that we know. */
const longest = 16_384;

/** Text that comes in pieces is held back from here on. */
function unfinishedIn(whole: string, literals: readonly string[], secrets: RegExp): number {
  const from = Math.max(0, whole.length - longest);
  const text = whole.slice(from);
  let at = text.length;
  const key = text.lastIndexOf("-----BEGIN ");
  if (key >= 0 && !/-----END [A-Z ]*-----/.test(text.slice(key))) at = key;
  let run = text.length;
  while (run > 0 && partOfShape.test(text[run - 1] as string)) run--;
  const shape = begun.exec(text.slice(run));
  if (shape !== null) at = Math.min(at, run + shape.index);
  for (const literal of literals) at = Math.min(at, partOf(literal, text));
  for (const start of starts) {
    const part = partOf(start, text);
    if (part === 0 || !/\w/.test(text[part - 1] as string)) at = Math.min(at, part);
  }
  // The end of one secret may be the beginning of another: what is whole is not taken apart.
  if (at < text.length) for (const { 0: found, index } of text.matchAll(secrets)) if (index + found.length > at) at = Math.min(at, index);
  return from + at;
}

/** Where the longest beginning of a literal stands at the end of a text. */
function partOf(literal: string, text: string): number {
  for (let length = Math.min(literal.length - 1, text.length); length > 0; length--)
    if (text.endsWith(literal.slice(0, length))) return text.length - length;
  return text.length;
}

/** A declared secret as it may stand in a text, and what is said of it then. */
function formsOf(secret: string): readonly (readonly [string, string])[] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString("hex");
  return [
    ["", secret],
    [" in JSON", inJson(secret)],
    [" in a URL", encodeURIComponent(secret)],
    ...base64Of(bytes).map((text) => [" in base64", text] as const),
    [" in hex", hex],
    [" in hex", hex.toUpperCase()],
  ];
}

function textsOf(secret: string): readonly string[] {
  return [...new Set(formsOf(secret).map(([, text]) => text))];
}

/** As it stands inside JSON text, like the arguments of a call. */
function inJson(secret: string): string {
  return JSON.stringify(secret).slice(1, -1);
}

/** Alone, and with anything before and after it, which may shift it by one or two bytes; in both alphabets. */
function base64Of(bytes: Buffer): readonly string[] {
  const texts = [bytes.toString("base64").replace(/=+$/, "")];
  for (const before of [0, 1, 2]) {
    const shifted = Buffer.concat([Buffer.alloc(before), bytes]);
    texts.push(shifted.toString("base64").slice(Math.ceil((before * 8) / 6), Math.floor((shifted.length * 8) / 6)));
  }
  return texts.flatMap((text) => [text, text.replaceAll("+", "-").replaceAll("/", "_")]);
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
