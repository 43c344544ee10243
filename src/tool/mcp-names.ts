/**
 * Names under which models see tools. Providers take `[a-zA-Z0-9_-]{1,64}`, servers offer any string, and two servers may offer
 * the same one. The names depend on what is offered and not on its order, so that a list sorted differently gives the same names.
 */
import { createHash } from "node:crypto";

const longest = 64;

/** What one server offers: its name and the names of its tools, each once. */
export interface Offer {
  readonly server: string;
  readonly tools: readonly string[];
}

/** For every offer, the name shown of every tool. Names are kept where they are valid and offered once, else the server's is put before. */
export function shownNames(offers: readonly Offer[]): readonly ReadonlyMap<string, string>[] {
  const all = offers.flatMap(({ server, tools }, at) => tools.map((tool) => ({ at, server, tool })));
  const offered = count(all.map(({ tool }) => tool));
  const wished = all.map((one) => {
    const wish = offered.get(one.tool) === 1 ? one.tool : `${one.server}_${one.tool}`;
    return { ...one, exact: wish === one.tool && isValid(wish), name: valid(wish) };
  });
  const wishes = count(wished.map(({ name }) => name));
  const isFree = ({ exact, name }: (typeof wished)[number]) => exact || wishes.get(name) === 1;
  const taken = new Set(wished.filter(isFree).map(({ name }) => name));
  const maps = offers.map(() => new Map<string, string>());
  for (const one of wished) {
    let name = one.name;
    // The digest is no secret: a server may offer the very name that another tool is given, so look until one is free.
    for (let turn = 0; !isFree(one) && (turn === 0 || taken.has(name)); turn += 1)
      name = distinct(one.name, JSON.stringify([one.server, one.tool, turn]));
    taken.add(name);
    maps[one.at]?.set(one.tool, name);
  }
  return maps;
}

function isValid(name: string): boolean {
  return /^[a-zA-Z0-9_-]{1,64}$/.test(name);
}

function valid(name: string): string {
  if (isValid(name)) return name;
  const replaced = name.replace(/[^a-zA-Z0-9_-]+/g, "_");
  if (!/[a-zA-Z0-9]/.test(replaced)) return distinct("tool", name);
  return replaced.length <= longest ? replaced : distinct(replaced, name);
}

/** The name with a digest at its end, which tells it from others like it. */
function distinct(name: string, from: string): string {
  return `${name.slice(0, longest - 9)}_${createHash("sha256").update(from).digest("hex").slice(0, 8)}`;
}

function count(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
