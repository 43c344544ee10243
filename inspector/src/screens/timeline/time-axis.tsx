/** How much time had gone by, and where nothing happened for long. */
import { seconds } from "../../../../src/wire/format.ts";
import { tickText } from "./axis.ts";
import { screenX, type View } from "./paths.ts";
import classes from "./timeline.module.css";

const pixelsApart = 90;
const mostBreaks = 60;
/** What does not fit before the end, or before a break, is left out: half a number is another one. */
const textWidth = 48;

export function TimeAxis({ view }: { readonly view: View }) {
  const { axis, left, right, width } = view;
  const apart = (pixelsApart / width) * (right - left);
  const ticks = axis.ticks(left, right, apart);
  const breaks = axis.breaks.filter(({ at }) => at + axis.breakLength > left && at < right);
  const along = (place: number): number => ((place - left) / (right - left)) * width;
  const fits = (x: number): boolean => x < width - textWidth && !breaks.some(({ at }) => along(at) > x && along(at) < x + textWidth);
  const breakWidth = (axis.breakLength / (right - left)) * width;
  return (
    <div className={classes["axis"]} aria-hidden="true">
      <div className={classes["ticks"]}>
        {ticks.map((time) => (
          <span key={time} className={classes["tick"]} style={{ left: screenX(view, time) }}>
            {fits(screenX(view, time)) && tickText(time - axis.from, apart)}
          </span>
        ))}
        {breaks.length <= mostBreaks &&
          breaks.map(({ from, to, at }) => (
            <span
              key={from}
              className={classes["break"]}
              title={`Nothing was done for ${seconds(to - from)}`}
              style={{ left: along(at), width: Math.max(2, breakWidth) }}
            >
              {breakWidth > 40 && seconds(to - from)}
            </span>
          ))}
      </div>
    </div>
  );
}
