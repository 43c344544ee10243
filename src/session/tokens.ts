/**
 * About how many tokens something is, without a tokenizer: a pure function of what is said, the same in every process. Four
 * characters of Latin text are about one token, one character of Chinese, Japanese or Korean is one; digits, punctuation and other
 * alphabets lie between, so JSON and code are denser than prose. Providers count exactly, and their count is used where there is one.
 */
import type { RequestMessage } from "./message.ts";

/** What a picture or a document costs, when nothing is known of it. */
const ofFile = 1500;
/** What a provider adds around each message, and around each call. */
const aroundMessage = 4;
const aroundCall = 8;

/** About how many tokens a text is. */
export function tokensOf(text: string): number {
  let quarters = 0;
  for (let index = 0; index < text.length; index++) quarters += quartersOf(text.charCodeAt(index));
  return Math.ceil(quarters / 4);
}

/** Letters and spaces count a quarter, signs and other alphabets a half, characters that are words or syllables a whole. */
function quartersOf(code: number): number {
  if (code < 0x80) return (code >= 0x61 && code <= 0x7a) || code === 0x20 || (code >= 0x41 && code <= 0x5a) ? 1 : 2;
  if (code < 0x250) return 1;
  if (code < 0x1100) return 2;
  return 4;
}

/** About how many tokens a message is. */
export function tokensOfMessage(message: RequestMessage): number {
  switch (message.role) {
    case "system":
      return aroundMessage + tokensOf(message.text);
    case "tool":
      return message.results.reduce((sum, { value }) => sum + aroundCall + tokensOfValue(value), aroundMessage);
    default:
      return message.parts.reduce((sum, part) => sum + tokensOfPart(part), aroundMessage);
  }
}

/** A value as a model reads it: text as it is, anything else as JSON. */
function tokensOfValue(value: unknown): number {
  return tokensOf(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
}

function tokensOfPart(part: Extract<RequestMessage, { role: "user" | "assistant" }>["parts"][number]): number {
  switch (part.type) {
    case "text":
    case "reasoning":
      return tokensOf(part.text);
    case "call":
      return aroundCall + tokensOf(part.tool) + tokensOf(part.input);
    case "file":
      return ofFile;
    case "source":
      return 0;
  }
}
