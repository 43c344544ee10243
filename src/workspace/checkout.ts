/**
 * A checkout: a writable place on disk that holds the files of a branch. It is a cache of a recorded tree and nothing more: it can
 * be thrown away and made again from the store. Host code touches it only while no process runs in it.
 */
import type { DiskLook } from "./disk-use.ts";
import type { Trees } from "./tree.ts";

/** How files are laid out: layers over a shared base, blocks shared with it, or bytes copied from it. */
export type CheckoutKind = "overlay" | "reflink" | "copy";

export interface Checkout extends AsyncDisposable {
  readonly kind: CheckoutKind;
  /** Where the host's own code finds the files. */
  readonly directory: string;
  /** When the directory lives in namespaces of its own: the command that enters them, and where it is in there. */
  readonly inside: { readonly enter: readonly string[]; readonly directory: string } | undefined;
  /** The tree it holds, as far as is known. */
  readonly tree: string;
  /** Brings the files to a tree, by what differs. */
  sync(trees: Trees, tree: string): Promise<void>;
  /** The tree of what is there now; what was not touched is not read. */
  scan(trees: Trees): Promise<string>;
  /** How many bytes were written beyond what was there when it was made or last brought to a tree. */
  written(when?: DiskLook): Promise<number>;
}

/** Where checkouts are made. */
export interface Checkouts extends AsyncDisposable {
  /** What `open` will use, by a probe made once. */
  kind(options: { readonly plain: boolean }): Promise<CheckoutKind>;
  /**
   * `plain`: an ordinary directory, for commands that run on the host itself. `network`: commands may use the host's. `from`: a
   * directory of the user that holds the tree or nearly, from which files are copied rather than taken out of the store. `session`: whose files they are, for people who look.
   */
  open(
    trees: Trees,
    tree: string,
    options: {
      readonly id: string;
      readonly plain: boolean;
      readonly network: boolean;
      readonly from?: string | undefined;
      readonly session?: string | undefined;
    },
  ): Promise<Checkout>;
}
