// What one tool round carries, the same for us and for every peer: a call of 141 bytes and a result of 1 000 bytes.
// Each result differs and does not compress well, so that neither deduplication nor compression flatters anybody.
import { createHash } from "node:crypto";

export const RESULT_BYTES = 1000;
export const CALL_BYTES = 141;

const text = Array.from({ length: 1600 }, (_, i) => createHash("sha256").update(`${i}`).digest("base64")).join("");

/** The tool's answer in round `round`. */
export function result(round) {
  const from = (round * 61) % (text.length - RESULT_BYTES);
  return text.slice(from, from + RESULT_BYTES);
}

/** What the model asks for in round `round`; `JSON.stringify` of it is 141 bytes long. */
export function call(round) {
  const asked = { input: { query: "" }, tool: "lookup" };
  const room = CALL_BYTES - JSON.stringify(asked).length;
  const name = `${round} `;
  // No longer text is built on the way: a slice would keep it alive, and its 70 KB would be measured, not the subject.
  return { ...asked, input: { query: name + text.substring(round % 1000, (round % 1000) + room - name.length) } };
}
