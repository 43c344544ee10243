/** What of the time is on screen: all of it, or the part that the address names in milliseconds since the beginning. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { Axis } from "./axis.ts";

export interface Zoom {
  readonly left: number;
  readonly right: number;
  readonly isFit: boolean;
  /** Shows what lies between two places of the axis. */
  show(left: number, right: number): void;
  /** Nearer by a factor, around a place from 0 to 1. */
  by(factor: number, around?: number): void;
  /** Along by a part of what is on screen. */
  move(part: number): void;
  fit(): void;
}

const narrowest = 0.5;

export function useZoom(axis: Axis): Zoom {
  const navigate = useNavigate();
  const { zoom = "" } = useSearch({ strict: false }) as { zoom?: string };
  const given = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(zoom);
  const margin = axis.length * 0.01;
  const fitted = { left: -margin, right: axis.length + margin };
  const named =
    given === null
      ? undefined
      : { left: axis.place(axis.from + Number(given[1])), right: Math.max(axis.place(axis.from + Number(given[2])), narrowest) };
  const isFit = named === undefined || named.right - named.left < narrowest / 2;
  const { left, right } = isFit || named === undefined ? fitted : named;
  const write = (value: string | undefined): void =>
    void navigate({ to: ".", search: (kept: object) => ({ ...kept, zoom: value }), replace: true });
  const show = (from: number, to: number): void => {
    const width = Math.max(narrowest, to - from);
    if (width >= axis.length) {
      write(undefined);
      return;
    }
    const start = Math.min(Math.max(0, from), axis.length - width);
    const times = [axis.time(start), axis.time(start + width)].map((time) => Number((time - axis.from).toFixed(1)));
    write(times.join("-"));
  };
  return {
    ...{ left, right, isFit, show },
    by: (factor, around = 0.5) => {
      const width = (right - left) / factor;
      const middle = left + (right - left) * around;
      show(middle - width * around, middle + width * (1 - around));
    },
    move: (part) => show(left + (right - left) * part, right + (right - left) * part),
    fit: () => write(undefined),
  };
}
