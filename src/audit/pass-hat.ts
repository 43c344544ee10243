/** How reliable a program is that was tried several times: not whether it can, but whether it does every time. */

/**
 * pass^k as tau-bench defines it: the chance that k trials of a task, drawn at random from those that were made, have all passed; the
 * mean over tasks. 1 for no tasks. Of a task with fewer than k trials nothing can be said: the result is NaN.
 *
 * @example
 * const passed = tries.map((session) => session.checks.every((check) => check.passed));
 * console.log(passHat(1, [passed]), passHat(2, [passed])); // one task
 */
export function passHat(k: number, tasks: readonly (readonly boolean[])[]): number {
  const chances = tasks.map((trials) => chanceOf(k, trials.filter(Boolean).length, trials.length));
  return chances.length === 0 ? 1 : chances.reduce((sum, chance) => sum + chance, 0) / chances.length;
}

/** That k of n are all among the passed ones. */
function chanceOf(k: number, passed: number, n: number): number {
  if (k > n) return Number.NaN;
  let chance = 1;
  for (let drawn = 0; drawn < k; drawn++) chance *= (passed - drawn) / (n - drawn);
  return Math.max(0, chance);
}
