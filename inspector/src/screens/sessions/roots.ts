/** Which root a branch comes from: that never changes. */
interface Branch {
  readonly id: string;
  readonly parent?: string | undefined;
}

const kept = 20_000;

export class Roots {
  readonly #rootOf = new Map<string, string>();
  readonly #newest: () => Promise<readonly Branch[]>;

  /** What nobody told of was made just now: it is looked for among the newest. */
  constructor(newest: () => Promise<readonly Branch[]>) {
    this.#newest = newest;
  }

  learn(root: string, branches: Iterable<string>): void {
    for (const branch of branches) this.#rootOf.set(branch, root);
    this.#rootOf.set(root, root);
    for (const oldest of this.#rootOf.keys()) if (this.#rootOf.size > kept) this.#rootOf.delete(oldest);
  }

  /** Not all that something happens to is a session: of what is not found nothing is said. */
  async of(ids: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    if ([...ids].some((id) => !this.#rootOf.has(id))) this.#read(await this.#newest().catch(() => []));
    return new Set([...ids].flatMap((id) => this.#rootOf.get(id) ?? []));
  }

  #read(branches: readonly Branch[]): void {
    const known = new Map(branches.map((branch) => [branch.id, branch]));
    for (const { id } of branches) {
      let at: string | undefined = id;
      while (at !== undefined && !this.#rootOf.has(at) && known.get(at)?.parent !== undefined) at = known.get(at)?.parent;
      if (at === undefined) continue;
      const root = this.#rootOf.get(at) ?? (known.has(at) ? at : undefined);
      if (root !== undefined) this.learn(root, [id]);
    }
  }
}
