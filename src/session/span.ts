/** A time span like "250ms", "30s" or "2d". */
export type Duration = `${number}${"ms" | "s" | "m" | "h" | "d"}`;
