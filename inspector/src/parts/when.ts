/** A moment as every screen writes it, by the clock of whoever looks. */
export function when(at: number | string | Date): string {
  return new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
}
