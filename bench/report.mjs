// Rows of the report: one figure each, with the goal it is held against.

/**
 * @typedef {{ name: string, value: number | null, unit: string, goal: string | null, ok: boolean | null }} Row
 */

/**
 * One figure. `goal` is "<= 1.5", ">= 30" or "0.8..1.2"; without one the row is information and `ok` is null.
 * A value that could not be measured (null) misses its goal.
 * @param {string} name @param {number | null} value @param {string} unit @param {string} [goal] @returns {Row}
 */
export function row(name, value, unit, goal) {
  const rounded = value === null ? null : Number(value.toPrecision(4));
  return { name, value: rounded, unit, goal: goal ?? null, ok: goal === undefined ? null : rounded !== null && meets(rounded, goal) };
}

function meets(value, goal) {
  const range = /^([\d.]+?)\.\.([\d.]+)$/.exec(goal);
  if (range) return value >= Number(range[1]) && value <= Number(range[2]);
  const bound = /^(<=|>=|<) ([\d.]+)$/.exec(goal);
  if (!bound) throw new Error(`a goal cannot be read: ${goal}`);
  const limit = Number(bound[2]);
  return bound[1] === ">=" ? value >= limit : bound[1] === "<=" ? value <= limit : value < limit;
}

/** @param {readonly Row[]} rows */
export function table(rows) {
  const head = ["name", "value", "unit", "goal", "ok"];
  const body = rows.map((r) => [r.name, shown(r.value), r.unit, r.goal ?? "", r.ok === null ? "" : r.ok ? "yes" : "NO"]);
  const widths = head.map((title, i) => Math.max(title.length, ...body.map((cells) => cells[i].length)));
  const line = (cells) =>
    cells
      .map((cell, i) => (i === 1 ? cell.padStart(widths[i]) : cell.padEnd(widths[i])))
      .join("  ")
      .trimEnd();
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n");
}

function shown(value) {
  if (value === null) return "-";
  return value >= 1000 ? Math.round(value).toLocaleString("en-US").replaceAll(",", " ") : String(value);
}
