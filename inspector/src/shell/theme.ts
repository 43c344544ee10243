/** Light, dark, or as the system is. */

export type Theme = "system" | "light" | "dark";

const place = "openrath.theme";

export function theme(): Theme {
  const stored = localStorage.getItem(place);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function setTheme(wanted: Theme): void {
  if (wanted === "system") localStorage.removeItem(place);
  else localStorage.setItem(place, wanted);
  startTheme();
}

export function startTheme(): void {
  const { dataset } = document.documentElement;
  const wanted = theme();
  if (wanted === "system") delete dataset["theme"];
  else dataset["theme"] = wanted;
}
