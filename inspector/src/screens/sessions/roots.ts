/** Which root a branch comes from: asked once for each, since that never changes. */
type AskParent = (id: string) => Promise<string | undefined>;

const kept = 20_000;
/** More branches that nobody knew are not asked for at once: one is enough to have all of its root read again. */
const mostAsked = 20;

export class Roots {
  readonly #rootOf = new Map<string, string>();
  readonly #ask: AskParent;

  constructor(ask: AskParent) {
    this.#ask = ask;
  }

  learn(root: string, branches: Iterable<string>): void {
    for (const branch of branches) this.#rootOf.set(branch, root);
    this.#rootOf.set(root, root);
    for (const oldest of this.#rootOf.keys()) if (this.#rootOf.size > kept) this.#rootOf.delete(oldest);
  }

  /** Of those that cannot be asked for nothing is said. */
  async of(ids: Iterable<string>): Promise<ReadonlySet<string>> {
    const all = [...ids];
    const known = all.flatMap((id) => this.#rootOf.get(id) ?? []);
    const unknown = all.filter((id) => !this.#rootOf.has(id)).slice(0, mostAsked);
    const asked = await Promise.all(unknown.map((id) => this.#find(id).catch(() => undefined)));
    return new Set([...known, ...asked.filter((root) => root !== undefined)]);
  }

  async #find(id: string): Promise<string> {
    const known = this.#rootOf.get(id);
    if (known !== undefined) return known;
    const parent = await this.#ask(id);
    const root = parent === undefined ? id : await this.#find(parent);
    this.learn(root, [id]);
    return root;
  }
}
