/**
 * Keys of the keyboard. Every screen says which ones it takes and what they do; help shows those that count now. Whoever writes in a
 * field, or answers a dialog, is not disturbed.
 */
import { useEffect, useRef } from "react";

/** A key by its name, as "j", "Ctrl+k" or "?", with what it does in a few words. */
export interface KeyAction {
  readonly keys: string;
  readonly does: string;
  readonly act: () => void;
}

interface Taker {
  /** Components are drawn from outside in: the later, the nearer. */
  readonly order: number;
  actions: readonly KeyAction[];
}

const takers: Taker[] = [];
let drawn = 0;

/** Takes keys as long as the component is shown. Of several that take one key, the innermost counts. */
export function useKeys(actions: readonly KeyAction[]): void {
  const taker = useRef<Taker>(undefined);
  taker.current ??= { order: drawn++, actions };
  taker.current.actions = actions;
  useEffect(() => {
    const { current } = taker;
    if (current === undefined) return undefined;
    takers.push(current);
    takers.sort((a, b) => a.order - b.order);
    return () => {
      takers.splice(takers.indexOf(current), 1);
    };
  }, []);
}

/** What counts now, nearest first. */
export function currentKeys(): readonly KeyAction[] {
  const found = new Map<string, KeyAction>();
  for (const { actions } of takers.toReversed()) for (const action of actions) if (!found.has(action.keys)) found.set(action.keys, action);
  return [...found.values()];
}

/** The same, apart: of what is shown, and of what is around every screen. */
export function keysByPlace(): { readonly here: readonly KeyAction[]; readonly everywhere: readonly KeyAction[] } {
  const around = new Set(takers[0]?.actions);
  const all = currentKeys();
  return { here: all.filter((action) => !around.has(action)), everywhere: all.filter((action) => around.has(action)) };
}

export function startKeys(): () => void {
  const listener = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || isTaken(event)) return;
    const name = nameOf(event);
    const action = currentKeys().find(({ keys }) => keys === name);
    if (action === undefined) return;
    event.preventDefault();
    action.act();
  };
  window.addEventListener("keydown", listener);
  return () => window.removeEventListener("keydown", listener);
}

function nameOf({ key, ctrlKey, metaKey }: KeyboardEvent): string {
  return ctrlKey || metaKey ? `Ctrl+${key.toLowerCase()}` : key;
}

/** Somebody writes, answers a question, or presses a button. */
function isTaken({ target, key, altKey, isComposing, ctrlKey, metaKey }: KeyboardEvent): boolean {
  if (altKey || isComposing) return true;
  const element = target instanceof Element ? target : undefined;
  if (document.querySelector("dialog[open]") !== null) return true;
  if ((key === "Enter" || key === " ") && element?.closest("a, button, summary") != null) return true;
  return !(ctrlKey || metaKey) && element?.closest("input:not([type=range]), textarea, select, [contenteditable]") != null;
}
