/** What was thrown, in words: anything can be. */
export function textOfThrown(thrown: unknown): string {
  try {
    if (typeof thrown !== "object" || thrown === null) return String(thrown);
    const { message } = thrown as { readonly message?: unknown };
    return message === undefined ? JSON.stringify(thrown) : String(message);
  } catch {
    return "something that cannot be shown";
  }
}
