/** Numbers of things as messages say them. */

/** 1 → "1 event", 2 → "2 events". */
export function counted(number: number, noun: string): string {
  return `${number} ${nounFor(number, noun)}`;
}

/** The noun as it stands behind a number: "event" or "events", "memory" or "memories", "branch" or "branches". */
export function nounFor(number: number, noun: string): string {
  if (number === 1) return noun;
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`;
  return /ch$|[sx]$/.test(noun) ? `${noun}es` : `${noun}s`;
}
