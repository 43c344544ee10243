/** Secrets do not enter the log: declared ones and well-known key shapes are replaced before anything is hashed or handed over. */
import { RathError } from "../session/errors.ts";
import type { Redact } from "../session/json.ts";

const marker = "[redacted]";

/** Keys whose shape alone gives them away. */
const shapes: readonly string[] = [
  "sk-(?:ant-|proj-|svcacct-|or-)?[A-Za-z0-9_-]{20,}", // OpenAI, Anthropic, OpenRouter
  "gh[pousr]_[A-Za-z0-9]{36,}", // GitHub
  "github_pat_[A-Za-z0-9_]{22,}",
  "glpat-[A-Za-z0-9_-]{20,}", // GitLab
  "(?:AKIA|ASIA)[A-Z0-9]{16}", // AWS
  "AIza[A-Za-z0-9_-]{35}", // Google
  "xox[abeprs]-[A-Za-z0-9-]{10,}", // Slack
  "(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}", // Stripe
  "npm_[A-Za-z0-9]{36}",
  "hf_[A-Za-z0-9]{34,}", // Hugging Face
  // A header ends where another one may begin, so that each character is looked at once.
  "eyJ(?:(?!-eyJ)[A-Za-z0-9_-]){10,}\\.eyJ[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]{10,}", // JWT
];
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
  const literals = declared.flatMap((secret) => [secret, inJson(secret), encodeURIComponent(secret), base64(secret)]).map(escapeRegExp);
  const pattern = new RegExp([...new Set(literals), `\\b(?:${shapes.join("|")})`, privateKey].join("|"), "g");
  const isSuspicious = literals.length === 0 ? telltale : new RegExp([...new Set(literals), telltale.source].join("|"));
  const clean = new Set<string>();
  return (text) => {
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
}

/** As it stands inside JSON text, like the arguments of a call. */
function inJson(secret: string): string {
  return JSON.stringify(secret).slice(1, -1);
}

function base64(secret: string): string {
  return Buffer.from(secret).toString("base64").replace(/=+$/, "");
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
