/** Secrets do not enter the log: declared ones and well-known key shapes are replaced before anything is hashed or handed over. */
import type { Redact } from "../session/json.ts";

const marker = "[redacted]";

/** Keys whose shape alone gives them away. Each begins with a literal, so that ordinary text is passed over quickly. */
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
  "eyJ[A-Za-z0-9_-]{10,}\\.eyJ[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]{10,}", // JWT
  "-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----[\\s\\S]*?(?:-----END (?:[A-Z]+ )*PRIVATE KEY-----|$)",
];

/** Shorter ones would be found inside ordinary words. */
const shortest = 6;

export function redactor(secrets: readonly string[] = []): Redact {
  const declared = [...new Set(secrets)].filter((secret) => secret.length >= shortest).sort((a, b) => b.length - a.length);
  const literals = declared.flatMap((secret) => [secret, encodeURIComponent(secret), btoaOf(secret)]).map(escapeRegExp);
  const pattern = new RegExp([...new Set(literals), `(?<![A-Za-z0-9])(?:${shapes.join("|")})`].join("|"), "g");
  return (text) => {
    pattern.lastIndex = 0;
    if (text.length < shortest || !pattern.test(text)) return undefined;
    pattern.lastIndex = 0;
    let count = 0;
    const clean = text.replace(pattern, () => {
      count++;
      return marker;
    });
    return { text: clean, count };
  };
}

function btoaOf(secret: string): string {
  return Buffer.from(secret).toString("base64").replace(/=+$/, "");
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
