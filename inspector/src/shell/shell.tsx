/** What is around every screen: where one can go, whose data it is, the palette and the help. */
import { CatchBoundary, Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { useInfo, useLeave } from "../client.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { part } from "../parts/missing-part.ts";
import { useNarrow } from "../parts/use-narrow.ts";
import { KeyHelp } from "./key-help.tsx";
import { startKeys, useKeys } from "./keys.ts";
import { ScreenFailure } from "./screen-failure.tsx";
import classes from "./shell.module.css";
import { setTheme, type Theme, theme } from "./theme.ts";
import { Toasts } from "./toasts.tsx";
import { WaitingCount } from "./waiting-count.tsx";

const loadPalette = part(async () => ({ default: (await import("./palette.tsx")).Palette }));
const Palette = lazy(loadPalette);
/** It is there before anybody asks for it: what is typed right behind the key that opens it would be lost. */
const soonMs = 1000;

export function Shell() {
  const navigate = useNavigate();
  const onTheWay = useRouterState({ select: ({ status }) => status === "pending" });
  const [shown, setShown] = useState<"palette" | "help" | undefined>();
  useEffect(startKeys, []);
  useEffect(() => {
    const timer = setTimeout(() => void loadPalette().catch(() => {}), soonMs);
    return () => clearTimeout(timer);
  }, []);
  const go = (to: string): void => void navigate({ to });
  useKeys([
    { keys: "Ctrl+k", does: "find a session, a screen or an action", act: () => setShown("palette") },
    { keys: "?", does: "these keys", act: () => setShown("help") },
    { keys: "1", does: "sessions", act: () => go("/sessions") },
    { keys: "2", does: "what needs me", act: () => go("/approvals") },
    { keys: "3", does: "runs", act: () => go("/runs") },
    { keys: "4", does: "memory", act: () => go("/memory") },
    { keys: "5", does: "compare two sessions or branches", act: () => go("/diff") },
  ]);
  return (
    <div className={classes["shell"]}>
      <button type="button" className={classes["skip"]} onClick={() => document.getElementById("main")?.focus()}>
        To the content
      </button>
      <header className={classes["bar"]}>
        <Link to="/sessions" className={classes["brand"]} aria-label="OpenRath: sessions">
          <img src="icon.svg" alt="" width="22" height="22" />
          <span>OpenRath</span>
        </Link>
        <nav aria-label="Screens" className={classes["nav"]}>
          <Link to="/sessions">Sessions</Link>
          <Link to="/approvals">
            Approvals <WaitingCount />
          </Link>
          <Link to="/runs">Runs</Link>
          <Link to="/memory">Memory</Link>
        </nav>
        <button type="button" className={classes["find"]} aria-label="Find, Ctrl K" onClick={() => setShown("palette")}>
          <Icon name="find" />
          <span>
            Find <kbd>Ctrl K</kbd>
          </span>
        </button>
        <Who />
      </header>
      <main id="main" aria-busy={onTheWay} tabIndex={-1} className={classes["main"]}>
        <Outlet />
      </main>
      {shown === "help" && <KeyHelp close={() => setShown(undefined)} />}
      {shown === "palette" && (
        <CatchBoundary
          getResetKey={() => "palette"}
          errorComponent={(failure) => (
            <Dialog title="Find" close={() => setShown(undefined)}>
              <ScreenFailure {...failure} />
            </Dialog>
          )}
        >
          <Suspense>
            <Palette close={() => setShown(undefined)} help={() => setShown("help")} />
          </Suspense>
        </CatchBoundary>
      )}
      <Toasts />
    </div>
  );
}

function Who() {
  const { caller, project, tenant } = useInfo();
  const leave = useLeave();
  const [chosen, choose] = useState(theme);
  const isNarrow = useNarrow();
  return (
    <div className={classes["who"]}>
      <span className="quiet small clip given" title={`${caller.identity}: ${caller.roles.join(", ")}; project ${tenant}/${project}`}>
        {caller.identity}
      </span>
      <select
        aria-label="Theme"
        value={chosen}
        onChange={(event) => {
          setTheme(event.target.value as Theme);
          choose(theme());
        }}
      >
        <option value="system">System{isNarrow ? "" : " theme"}</option>
        <option value="light">Light{isNarrow ? "" : " theme"}</option>
        <option value="dark">Dark{isNarrow ? "" : " theme"}</option>
      </select>
      {caller.key !== undefined && (
        <button type="button" data-look="plain" onClick={leave} title="Forget the key in this browser">
          Leave
        </button>
      )}
    </div>
  );
}
