/** Saves what was made or fetched as a file of whoever looks. */
import { neutral } from "../../../src/wire/neutral.ts";

export function saveFile(name: string, content: Blob): void {
  // Only ever saved, never shown: whatever it says it is.
  const url = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName(name);
  link.click();
  // The browser has it as soon as the download began, which no event tells.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Names on record may turn the direction of a line, so that a program looks like a picture. */
function fileName(name: string): string {
  return neutral(name.slice(-200)).replace(/[\\/:*?"<>|\n\t]/g, "_");
}

/** The same of an answer of the server. */
export async function saveAnswer(name: string, answer: Response): Promise<number> {
  const content = await answer.blob();
  saveFile(name, content);
  return content.size;
}
