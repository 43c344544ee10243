/** Paths of the workspace by their letters alone: "a/./b", "a//b" and "/workspace/a/b" are one file. Links are not looked at. */

/** Where commands see the workspace. */
const root = "/workspace";

/** From the root of the workspace, which is "."; undefined when it is outside. */
export function workspacePath(path: string, from = "."): string | undefined {
  const inside = path.startsWith("/") ? withoutRoot(path) : `${from}/${path}`;
  if (inside === undefined) return undefined;
  const names: string[] = [];
  for (const name of inside.split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== "..") names.push(name);
    else if (names.pop() === undefined) return undefined;
  }
  return names.length === 0 ? "." : names.join("/");
}

/** The same for all ways to write one path, also of those outside: what calls that must not run at once have in common. */
export function fileResource(path: string): string {
  return `file:${workspacePath(path) ?? path}`;
}

function withoutRoot(path: string): string | undefined {
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  return `/${names[0]}` === root ? names.slice(1).join("/") : undefined;
}
