/** The memory of a runtime: what sessions recall, remember and forget. */
import type { MemoryStore } from "../memory/memory.ts";
import type { ForgetRequest, RecallRequest } from "../session/host.ts";
import type { Remembered, Session } from "../session/session.ts";
import type { Services } from "./services.ts";

export class Memories {
  readonly #runtime: Services;
  readonly #open: () => Promise<MemoryStore>;

  constructor(runtime: Services, open: () => Promise<MemoryStore>) {
    this.#runtime = runtime;
    this.#open = open;
  }

  async recall(session: Session, request: RecallRequest): Promise<Session> {
    throw new Error(`not yet ${session} ${request} ${this.#runtime} ${this.#open}`);
  }
  async remember(session: Session, item: Remembered): Promise<Session> {
    throw new Error(`not yet ${session} ${item}`);
  }
  async forget(session: Session, request: ForgetRequest): Promise<Session> {
    throw new Error(`not yet ${session} ${request}`);
  }
}
