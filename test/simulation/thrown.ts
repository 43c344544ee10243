/** What was thrown, with where it comes from. */
export function textOf(error: unknown): string {
  return error instanceof Error ? `${(error as { code?: string }).code ?? error.name}: ${error.message}\n${error.stack}` : String(error);
}
