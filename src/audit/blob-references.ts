/** The blobs and trees of files that the data of an event names. */

/** A blob named by data. */
export interface BlobReference {
  readonly hash: string;
  /** How long the data says it is. */
  readonly bytes: number;
}

const hashShape = /^[0-9a-f]{64}$/;

/** True for the name of a blob: also what makes it safe as the name of a file. */
export function isHash(name: unknown): name is string {
  return typeof name === "string" && hashShape.test(name);
}

/** All references in parsed canonical data. A user's own object with a `$` key travels inside `{"$":"object"}` and is none. */
export function blobReferences(value: unknown): {
  readonly references: readonly BlobReference[];
  /** Trees of files by their hashes. */
  readonly trees: readonly string[];
  readonly flaw?: string | undefined;
} {
  const references: BlobReference[] = [];
  const trees: string[] = [];
  const waiting: unknown[] = [value];
  for (let next = waiting.pop(); waiting.length > 0 || next !== undefined; next = waiting.pop()) {
    if (typeof next !== "object" || next === null) continue;
    const marked = next as Readonly<Record<string, unknown>>;
    if (marked["$"] === "blob") {
      const { hash, bytes } = marked;
      if (!isHash(hash) || typeof bytes !== "number" || !Number.isSafeInteger(bytes) || bytes < 0)
        return { references, trees, flaw: "its data names a blob without a hash and a length" };
      references.push({ hash, bytes });
      continue;
    }
    if (marked["$"] === "tree") {
      const { hash } = marked;
      if (!isHash(hash)) return { references, trees, flaw: "its data names a tree of files without a hash" };
      trees.push(hash);
      continue;
    }
    const inner = marked["$"] === "object" ? marked["of"] : next;
    if (typeof inner === "object" && inner !== null)
      for (const one of Object.values(inner)) if (typeof one === "object" && one !== null) waiting.push(one);
  }
  return { references, trees };
}
