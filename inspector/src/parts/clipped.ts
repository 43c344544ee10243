/** The beginning of a text, with a sign where it goes on. */
export function clipped(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).trimEnd()}…`;
}
