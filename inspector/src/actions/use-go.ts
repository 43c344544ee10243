/** Goes to another branch, on the screen that is shown. */
import { useLocation, useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";

const screens = ["graph", "transcript", "timeline", "scrubber", "call", "files", "verify", "raw"] as const;

export function useGo(): (session: string, at?: string) => void {
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const shown = screens.find((screen) => pathname.endsWith(`/${screen}`)) ?? "graph";
  return useCallback(
    (session, at) => void navigate({ to: `/s/$session/${shown}`, params: { session }, search: at === undefined ? {} : { at } }),
    [navigate, shown],
  );
}
