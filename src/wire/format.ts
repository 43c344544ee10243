/** Numbers, times and ids as people read them. */
import { nounFor } from "../session/counted.ts";

/** 1234567 → "1 234 567". */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, " ");
}

export function money(usd: number): string {
  return `$${usd.toFixed(usd !== 0 && Math.abs(usd) < 1 ? 4 : 2)}`;
}

/** Without what adding up floating-point numbers leaves at the end. */
export function exact(value: number): number {
  return Number(value.toPrecision(12));
}

export function seconds(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const whole = Math.round(ms / 1000);
  return whole < 3600
    ? `${Math.floor(whole / 60)} min ${whole % 60} s`
    : `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** How long ago. */
export function ago(at: string, now: Date): string {
  const past = Math.max(0, now.getTime() - Date.parse(at)) / 1000;
  if (past < 60) return `${Math.floor(past)}s ago`;
  if (past < 3600) return `${Math.floor(past / 60)}m ago`;
  if (past < 86_400) return `${Math.floor(past / 3600)}h ago`;
  return past < 86_400 * 60 ? `${Math.floor(past / 86_400)}d ago` : at.slice(0, 10);
}

/** In how long. */
export function within(at: string, now: Date): string {
  const left = Math.max(0, Date.parse(at) - now.getTime()) / 1000;
  if (left < 60) return `in ${Math.ceil(left)}s`;
  if (left < 3600) return `in ${Math.ceil(left / 60)}m`;
  if (left < 86_400) return `in ${Math.ceil(left / 3600)}h`;
  return left < 86_400 * 60 ? `in ${Math.ceil(left / 86_400)}d` : at.slice(0, 10);
}

/** "one event", "two events" with figures. */
export function plural(number: number, noun: string): string {
  return `${count(number)} ${nounFor(number, noun)}`;
}

const shortest = 8;

/** Shortens ids to the length at which all of them differ, as git does. */
export function shortener(ids: Iterable<string>): (id: string) => string {
  const sorted = [...new Set(ids)].sort();
  let length = shortest;
  sorted.forEach((id, index) => {
    const next = sorted[index + 1] ?? "";
    let same = 0;
    while (same < id.length && id[same] === next[same]) same++;
    length = Math.max(length, same + 1);
  });
  return (id) => {
    const short = id.slice(0, length);
    return short.endsWith("-") ? id.slice(0, length + 1) : short;
  };
}

/** Events are shown by the beginning of their ids. */
export function shortEvent(id: string): string {
  return id.slice(0, 12);
}

/** 1536 → "1.5 kB": powers of 1024, as sizes of files are counted. */
export function size(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let [value, unit] = [bytes, 0];
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}
