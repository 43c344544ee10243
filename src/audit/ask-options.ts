/** How a question about a session is asked. */
export interface AskOptions {
  /** Ends the search: it rejects with the reason. */
  readonly signal?: AbortSignal | undefined;
}
