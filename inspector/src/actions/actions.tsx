/** What can be done with the session on screen, from wherever it is shown. Each verb opens its question; the answer says what became of it. */
import { useLocation } from "@tanstack/react-router";
import { createContext, lazy, type ReactNode, Suspense, useContext, useEffect, useMemo, useState } from "react";
import { part } from "../parts/missing-part.ts";
import type { Action } from "./action.ts";

export type { Action } from "./action.ts";

const context = createContext<(action: Action) => void>(() => {});
const ActionDialog = lazy(part(async () => ({ default: (await import("./action-dialog.tsx")).ActionDialog })));

/** Opens the question of an action. */
export function useAct(): (action: Action) => void {
  return useContext(context);
}

export function ActionsProvider({ children }: { readonly children: ReactNode }) {
  const [action, setAction] = useState<Action>();
  // Whoever goes elsewhere has left the question.
  const screen = useLocation({ select: ({ pathname }) => pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: it closes when the screen changes
  useEffect(() => setAction(undefined), [screen]);
  const act = useMemo(() => (wanted: Action) => setAction(wanted), []);
  return (
    <context.Provider value={act}>
      {children}
      {action !== undefined && (
        <Suspense>
          <ActionDialog action={action} close={() => setAction(undefined)} />
        </Suspense>
      )}
    </context.Provider>
  );
}
