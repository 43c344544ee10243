/** When a call ends before it is answered: its caller leaves, the server is closed, or its time is over. */
import { RathError } from "../session/errors.ts";

export class Ending {
  readonly #request: Request;
  readonly #closed: AbortSignal;
  #controller: AbortController | undefined;
  #over = false;
  #forget: () => void = () => {};
  /** It still sends its body. */
  reading = false;
  #late = false;

  constructor(request: Request, closed: AbortSignal) {
    this.#request = request;
    this.#closed = closed;
  }

  /** Made when somebody asks for it: most calls are answered before anybody does. */
  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal;
    const controller = new AbortController();
    this.#controller = controller;
    const sources = [this.#request.signal, this.#closed];
    const reasonOf = (source: AbortSignal): unknown => (source === this.#request.signal ? gone() : source.reason);
    const abort = (event: Event): void => controller.abort(reasonOf(event.target as AbortSignal));
    for (const source of sources) {
      if (source.aborted) controller.abort(reasonOf(source));
      else if (!this.#over) source.addEventListener("abort", abort);
    }
    this.#forget = () => {
      for (const source of sources) source.removeEventListener("abort", abort);
    };
    return controller.signal;
  }

  /** Its time is over: nobody waits for the answer. */
  get late(): boolean {
    return this.#late;
  }

  /** What the work gives, unless it takes longer; then it is told so by the signal, and whoever waits by an error. */
  async within<T>(ms: number, work: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#late = true;
        const error = this.reading ? slow(ms) : unfinished(ms);
        reject(error);
        void this.signal;
        this.#controller?.abort(error);
      }, ms);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The call was answered, its stream ended: nothing can end it any more. */
  done(): void {
    this.#over = true;
    this.#forget();
  }
}

/** Nobody reads it; the log and the metrics do, and it is no fault of the server. */
function gone(): RathError {
  return new RathError("request.timeout", "Whoever called left before this was answered.", { retryable: true });
}

function slow(ms: number): RathError {
  return new RathError("request.timeout", `The body did not come within ${ms / 1000} s.`, { retryable: true });
}

function unfinished(ms: number): RathError {
  return new RathError("server.busy", `This was not done within ${ms / 1000} s, and may still be: look before you ask again.`, {
    retryable: true,
    details: { retryAfter: 5 },
  });
}
