/** What is not the same in two values, by its place in them: few enough to be read. */

export interface Difference {
  /** Like "data.parts[0].text"; empty for the whole. */
  readonly path: string;
  /** Undefined: it is not there on that side. */
  readonly a: unknown;
  readonly b: unknown;
}

const mostFound = 50;
/** What is nested deeper is shown whole. */
const deepest = 8;

export function differences(a: unknown, b: unknown, most = mostFound): readonly Difference[] {
  const found: Difference[] = [];
  collect(a, b, "", 0, (difference) => {
    found.push(difference);
    return found.length < most;
  });
  return found;
}

/** False: no more is wanted. */
function collect(a: unknown, b: unknown, path: string, depth: number, take: (difference: Difference) => boolean): boolean {
  if (Object.is(a, b)) return true;
  if (depth === deepest || !isBranch(a) || !isBranch(b) || Array.isArray(a) !== Array.isArray(b))
    return sameText(a, b) || take({ path, a, b });
  for (const name of namesOf(a, b)) {
    const below = Array.isArray(a) ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`;
    if (!collect(own(a, name), own(b, name), below, depth + 1, take)) return false;
  }
  return true;
}

/** Each once, as long as somebody asks. */
function* namesOf(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): Generator<string> {
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let index = 0; index < Math.max(a.length, b.length); index++) yield String(index);
    return;
  }
  yield* Object.keys(a);
  for (const name of Object.keys(b)) if (!Object.hasOwn(a, name)) yield name;
}

function sameText(a: unknown, b: unknown): boolean {
  return isBranch(a) && isBranch(b) && JSON.stringify(a) === JSON.stringify(b);
}

function isBranch(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function own(of: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(of, name) ? of[name] : undefined;
}
