/** What changed, as git tells it. What draws it is loaded when there is something to draw. */
import { lazy, Suspense } from "react";
import { Loading } from "./loading.tsx";
import { part } from "./missing-part.ts";

const PatchView = lazy(part(async () => ({ default: (await import("./patch-view.tsx")).PatchView })));

interface Props {
  /** A patch as git writes it, of one file or several. */
  readonly patch: string;
  /** Which file it is about, where the patch does not say. */
  readonly path?: string | undefined;
}

export function Patch({ patch, path }: Props) {
  return (
    <Suspense fallback={<Loading what="the patch" />}>
      <PatchView patch={patch} path={path} />
    </Suspense>
  );
}
