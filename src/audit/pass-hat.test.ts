import { expect, test } from "vitest";
import { passHat } from "./pass-hat.ts";

test("pass^k is the share of draws of k trials that have all passed", () => {
  const draws = (items: readonly boolean[], k: number): readonly (readonly boolean[])[] =>
    k === 0 ? [[]] : items.flatMap((item, index) => draws(items.slice(index + 1), k - 1).map((rest) => [item, ...rest]));
  for (let n = 1; n <= 5; n++)
    for (let bits = 0; bits < 2 ** n; bits++)
      for (let k = 1; k <= n; k++) {
        const trials = Array.from({ length: n }, (_, index) => ((bits >> index) & 1) === 1);
        const all = draws(trials, k);
        const share = all.filter((draw) => draw.every(Boolean)).length / all.length;
        expect(passHat(k, [trials])).toBeCloseTo(share, 12);
        expect(passHat(k, [trials, trials.map(() => true)])).toBeCloseTo((share + 1) / 2, 12);
      }
});

test("nothing is said of trials that were not made", () => {
  expect(passHat(3, [[true, true]])).toBeNaN();
  expect(passHat(1, [])).toBe(1);
});
